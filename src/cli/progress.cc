#include "cli/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "cli/output.h"
#include "fmt/format.h"

namespace rooftune::cli {
namespace {

constexpr double kQuiet_s = 1.0;  // shorter work needs no progress
constexpr auto kRedraw = std::chrono::milliseconds(250);
constexpr auto kLineEvery = std::chrono::seconds(10);
constexpr std::size_t kBarWidth = 24;

}  // namespace

std::string progress_text(std::string_view what, std::size_t done, std::size_t total,
                          std::string_view item, double elapsed_s) {
  const std::size_t filled = total == 0 ? kBarWidth : std::min(done, total) * kBarWidth / total;
  std::string text =
      fmt::format("{} [{}{}] {}/{}", what, std::string(filled, '#'),
                  std::string(kBarWidth - filled, '.'), std::min(done, total), total);
  if (!item.empty()) text += fmt::format("  {}", item);
  text += fmt::format("  {:.0f} s", elapsed_s);
  if (done > 0 && done < total) {
    const double left_s = elapsed_s / static_cast<double>(done) * static_cast<double>(total - done);
    text += fmt::format(", about {:.0f} s left", left_s);
  }
  return text;
}

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(errors_go_to_terminal()),
      start_s_(steady_now_s()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Progress::~Progress() {
  thread_.request_stop();
  thread_.join();
  erase();
}

void Progress::at(std::size_t done, std::string item) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  item_ = std::move(item);
}

void Progress::aside(FunctionRef<void()> print) {
  const std::lock_guard lock(mutex_);
  erase();
  print();
}

void Progress::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, terminal_ ? std::chrono::milliseconds(kRedraw) : kLineEvery,
                   [] { return false; });
    if (!stop.stop_requested() && steady_now_s() - start_s_ > kQuiet_s) draw();
  }
}

void Progress::draw() {
  const std::string text = progress_text(what_, done_, total_, item_, steady_now_s() - start_s_);
  if (terminal_) {
    std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
    drawn_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
}

void Progress::erase() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace rooftune::cli
