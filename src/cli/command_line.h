// The arguments: what the commands are called, what they take, and their help.
#ifndef ROOFTUNE_CLI_COMMAND_LINE_H_
#define ROOFTUNE_CLI_COMMAND_LINE_H_

namespace rooftune::cli {

// Runs the command that the arguments ask for, says on standard error what went wrong, and returns
// the exit status of the process.
int run_command_line(int argc, const char* const* argv);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_COMMAND_LINE_H_
