#include "tests/cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace rooftune {
namespace {

constexpr const char* kOut = "stdout.txt";
constexpr const char* kErr = "stderr.txt";

int open_or_throw(const std::filesystem::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), flags | O_CLOEXEC, 0600);
  if (descriptor < 0) throw std::runtime_error("cannot open " + file.string());
  return descriptor;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Program::Program() {
  std::string name = (std::filesystem::temp_directory_path() / "rooftune_cli_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  folder_ = name;
}

Program::~Program() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Program::write(const std::string& name, std::string_view text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

std::string Program::read(const std::string& name) const {
  std::ifstream file(folder_ / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

pid_t Program::start(const std::vector<std::string>& arguments, int out, int err) const {
  std::vector<std::string> words = {ROOFTUNE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::map<std::string, std::string> all = {{"PATH", "/usr/bin:/bin"},
                                            {"HOME", folder_.string()},
                                            {"XDG_CACHE_HOME", (folder_ / "cache").string()},
                                            {"ROOFTUNE_ENVIRONMENT", "local"}};
  for (const auto& [name, value] : variables) all[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : all) environment.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);

  const int in = open_or_throw("/dev/null", O_RDONLY);
  const pid_t process = ::fork();
  if (process == 0) {
    if (::dup2(in, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2 &&
        ::chdir(folder_.c_str()) == 0) {
      ::execve(ROOFTUNE_PROGRAM, argv.data(), envp.data());
    }
    ::_exit(127);
  }
  ::close(in);
  if (process < 0) throw std::runtime_error("cannot fork");
  return process;
}

Ended Program::finish(pid_t process) const {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("cannot wait");
  }
  Ended ended;
  ended.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.out = read(kOut);
  ended.err = read(kErr);
  return ended;
}

Ended Program::run(const std::vector<std::string>& arguments) {
  write(kOut, "");
  return run_into(arguments, (folder_ / kOut).string());
}

Ended Program::run_into(const std::vector<std::string>& arguments, const std::string& out) {
  const int out_file = open_or_throw(out, O_WRONLY);
  const int err_file = open_or_throw(folder_ / kErr, O_WRONLY | O_CREAT | O_TRUNC);
  const pid_t process = start(arguments, out_file, err_file);
  ::close(out_file);
  ::close(err_file);
  return finish(process);
}

Ended Program::run_and_signal(const std::vector<std::string>& arguments, int signal) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  const int err_file = open_or_throw(folder_ / kErr, O_WRONLY | O_CREAT | O_TRUNC);
  const pid_t process = start(arguments, ends[1], err_file);
  ::close(ends[1]);
  ::close(err_file);
  std::string out;
  bool sent = false;
  char piece[4096];
  for (ssize_t bytes; (bytes = ::read(ends[0], piece, sizeof piece)) > 0;) {
    out.append(piece, static_cast<std::size_t>(bytes));
    if (!sent && out.find('\n') != std::string::npos) {
      sent = true;
      ::kill(process, signal);
    }
  }
  ::close(ends[0]);
  write(kOut, out);
  return finish(process);
}

}  // namespace rooftune
