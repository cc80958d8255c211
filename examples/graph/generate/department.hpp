// One department: who works and studies there, what is taught and what is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "generate/university_terms.hpp"

namespace godwit::graph {

// Depends on seed and place alone. What other departments are cited for exists in every one of
// them.
class Department {
 public:
  Department(std::uint64_t seed, DepartmentPlace place, Statements& out);
  void generate();

 private:
  // A rank of the faculty, and what one of that rank does.
  struct Rank {
    std::string_view type;
    std::string_view label;
    Range people;
    Range publications;
    bool professor;
  };
  static const Rank kRanks[];

  void faculty(const Rank& rank);
  void faculty_member(const Rank& rank, const std::string& who);
  void courses(const std::string& teacher);
  void research_groups();
  void undergraduates();
  void graduates();
  void assist(const std::string& who);
  void publications();
  void cite(const std::string& publication);

  void person(const std::string& who, std::string_view label, std::uint64_t number);
  void degree(const std::string& who, std::string_view property);
  [[nodiscard]] const std::string& pick(const std::vector<std::string>& from);
  // Different ones, in the order drawn.
  [[nodiscard]] std::vector<std::string> pick_some(const std::vector<std::string>& from,
                                                   std::uint64_t count);
  [[nodiscard]] std::string iri(std::string_view label, std::uint64_t number) const;

  struct Author {
    std::string who;
    std::string label;
    std::uint64_t publications = 0;
  };

  DepartmentPlace place_;
  Statements& out_;
  Random random_;
  std::string self_;
  std::vector<Author> authors_;
  std::vector<std::string> professors_;
  std::vector<std::string> graduates_;
  std::vector<std::string> undergraduate_courses_;
  std::vector<std::string> graduate_courses_;
  std::uint64_t faculty_ = 0;
};

}  // namespace godwit::graph
