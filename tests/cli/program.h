// Runs the command line in a folder of its own.
#ifndef ROOFTUNE_TESTS_CLI_PROGRAM_H_
#define ROOFTUNE_TESTS_CLI_PROGRAM_H_

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rooftune {

struct Ended {
  int exit = -1;  // 128 + signal for a process that a signal ended
  std::string out, err;
};

// A temporary folder that the program runs in, with an environment (ROOFTUNE_ENVIRONMENT=local)
// and a home of its own; removed with the object.
class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Variables for later runs, besides PATH, HOME, XDG_CACHE_HOME and ROOFTUNE_ENVIRONMENT.
  std::map<std::string, std::string> variables;

  const std::filesystem::path& folder() const { return folder_; }
  void write(const std::string& name, std::string_view text) const;

  Ended run(const std::vector<std::string>& arguments);
  // The same with standard output connected to a file that is there, e.g. /dev/full.
  Ended run_into(const std::vector<std::string>& arguments, const std::string& out);
  // Sends `signal` as soon as the program has printed its first line.
  Ended run_and_signal(const std::vector<std::string>& arguments, int signal);

 private:
  pid_t start(const std::vector<std::string>& arguments, int out, int err) const;
  Ended finish(pid_t process) const;
  std::string read(const std::string& name) const;

  std::filesystem::path folder_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_CLI_PROGRAM_H_
