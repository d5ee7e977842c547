// Ctrl-C while a list is worked through: the first one asks to stop after the current product, the
// second ends the process at once.
#ifndef ROOFTUNE_CLI_INTERRUPT_H_
#define ROOFTUNE_CLI_INTERRUPT_H_

namespace rooftune::cli {

// From now on SIGINT and SIGTERM only ask, once; the next one has its usual effect.
void catch_interrupts();
bool interrupted();

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_INTERRUPT_H_
