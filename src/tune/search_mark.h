// Which threads are measuring.
#ifndef ROOFTUNE_TUNE_SEARCH_MARK_H_
#define ROOFTUNE_TUNE_SEARCH_MARK_H_

namespace rooftune::detail {

// While one lives, is_searching() (rooftune/tuner.h) is true on its thread.
class SearchMark {
 public:
  SearchMark();
  ~SearchMark();
  SearchMark(const SearchMark&) = delete;
  SearchMark& operator=(const SearchMark&) = delete;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_SEARCH_MARK_H_
