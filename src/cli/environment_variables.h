// The only place in Rooftune that reads or sets environment variables.
#ifndef ROOFTUNE_CLI_ENVIRONMENT_VARIABLES_H_
#define ROOFTUNE_CLI_ENVIRONMENT_VARIABLES_H_

#include <filesystem>
#include <optional>
#include <string>

#include "rooftune/error.h"
#include "rooftune/settings.h"

namespace rooftune::cli {

// The six ROOFTUNE_ variables, laid over the settings. Errors: settings, naming the variable.
// A ROOFTUNE_ variable that does not exist gets a note.
Status apply_environment_variables(Settings& settings);

// XDG_CACHE_HOME when it is an absolute path (others are to be ignored, says its specification),
// else HOME/.cache; empty when neither says anything: the library then asks the password database.
std::filesystem::path user_cache_folder();

// The lib folder of the Python environment that is active, when one is: `pip install` puts
// libraries there. Empty: none is.
std::filesystem::path virtual_environment_folder();

// Sets a variable that a library reads while it is loaded, or takes back (null) what was set so.
// Does nothing when the user has set it.
void set_variable_for_library(const char* name, const char* value);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_ENVIRONMENT_VARIABLES_H_
