#include "tune/search_mark.h"

#include "rooftune/tuner.h"

namespace rooftune::detail {
namespace {

thread_local int searches_of_this_thread = 0;

}  // namespace

SearchMark::SearchMark() { ++searches_of_this_thread; }
SearchMark::~SearchMark() { --searches_of_this_thread; }

bool is_searching() { return searches_of_this_thread > 0; }

}  // namespace rooftune::detail
