// The only place in Rooftune that reads or sets environment variables.
#ifndef ROOFTUNE_CLI_ENVIRONMENT_VARIABLES_H_
#define ROOFTUNE_CLI_ENVIRONMENT_VARIABLES_H_

#include <filesystem>
#include <optional>
#include <string>

#include "rooftune/error.h"
#include "rooftune/settings.h"

namespace rooftune::cli {

// The five ROOFTUNE_ variables, laid over the settings. Errors: settings, naming the variable.
// A ROOFTUNE_ variable that does not exist gets a note.
Status apply_environment_variables(Settings& settings);

// XDG_CACHE_HOME when it is an absolute path (others are to be ignored, says its specification),
// else HOME/.cache; empty when neither says anything: the library then asks the password database.
std::filesystem::path user_cache_folder();

// OpenBLAS before 0.3.24 takes AVX-512 processors that it does not know by name for something far
// older and runs at a seventh of their speed. It can only be told at load time, by this variable.
// Does nothing when the user has set it.
void help_openblas_to_see_avx512();

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_ENVIRONMENT_VARIABLES_H_
