#include "generate/department.hpp"

#include <algorithm>

namespace godwit::graph {
namespace {

constexpr Range kGroups{10, 20};
constexpr Range kCoursesTaught{1, 2};
constexpr Range kUndergraduatesPerFaculty{8, 14};
constexpr Range kGraduatesPerFaculty{3, 4};
constexpr Range kCoursesTaken{2, 4};
constexpr Range kGraduateCoursesTaken{1, 3};
constexpr Range kCoAuthors{0, 3};
constexpr Range kCitations{0, 2};
constexpr Range kCredits{2, 12};
constexpr Range kYears{1995, 2024};
constexpr double kUndergraduateHasAdvisor = 0.2;
constexpr double kGraduateAssists = 0.25;
// Where degrees come from. Only some of these are among the universities generated.
constexpr std::uint64_t kDegreeUniversities = 100;
constexpr std::uint64_t kResearchInterests = 30;

}  // namespace

// The first professor of the first rank has published at least kRanks[0].publications.low times,
// and there are at least kRanks[0].people.low of them: what citations of other departments rely on.
const Department::Rank Department::kRanks[] = {
    {"FullProfessor", "fullProfessor", {7, 10}, {12, 18}, true},
    {"AssociateProfessor", "associateProfessor", {10, 14}, {8, 14}, true},
    {"AssistantProfessor", "assistantProfessor", {8, 11}, {5, 10}, true},
    {"Lecturer", "lecturer", {5, 7}, {0, 5}, false},
};

Department::Department(std::uint64_t seed, DepartmentPlace place, Statements& out)
    : place_(place),
      out_(out),
      random_(mix64(mix64(seed) ^ place.university) ^ mix64(place.department + 1)),
      self_(department_iri(place)) {}

void Department::generate() {
  out_.state(self_, "type", Statements::thing("Department"));
  out_.state(self_, "name", spell_string(fmt::format("Department{}", place_.department)));
  out_.state(self_, "subOrganizationOf", university_iri(place_.university));
  for (const Rank& rank : kRanks) faculty(rank);
  out_.state(iri("fullProfessor", 0), "headOf", self_);
  research_groups();
  undergraduates();
  graduates();
  publications();
}

void Department::faculty(const Rank& rank) {
  const std::uint64_t people = between(random_, rank.people);
  for (std::uint64_t number = 0; number < people; ++number) {
    const std::string who = iri(rank.label, number);
    person(who, rank.label, number);
    faculty_member(rank, who);
    authors_.push_back(
        {who, fmt::format("{}{}", rank.label, number), between(random_, rank.publications)});
    if (rank.professor) professors_.push_back(who);
  }
  faculty_ += people;
}

void Department::faculty_member(const Rank& rank, const std::string& who) {
  out_.state(who, "type", Statements::thing(rank.type));
  if (rank.professor) {
    out_.state(who, "type", Statements::thing("Professor"));
    out_.state(who, "researchInterest",
               spell_string(fmt::format("Research{}", random_.below(kResearchInterests))));
  }
  out_.state(who, "type", Statements::thing("Faculty"));
  out_.state(who, "worksFor", self_);
  degree(who, "undergraduateDegreeFrom");
  degree(who, "mastersDegreeFrom");
  degree(who, "doctoralDegreeFrom");
  courses(who);
}

void Department::courses(const std::string& teacher) {
  const auto teach = [&](std::string_view type, std::string_view label,
                         std::vector<std::string>& all) {
    const std::uint64_t count = between(random_, kCoursesTaught);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string course = iri(label, all.size());
      out_.state(course, "type", Statements::thing(type));
      out_.state(course, "name", spell_string(fmt::format("{}{}", type, all.size())));
      out_.state(course, "credits",
                 spell_integer(static_cast<std::int64_t>(between(random_, kCredits))));
      out_.state(teacher, "teacherOf", course);
      all.push_back(course);
    }
  };
  teach("Course", "course", undergraduate_courses_);
  teach("GraduateCourse", "graduateCourse", graduate_courses_);
}

void Department::research_groups() {
  const std::uint64_t groups = between(random_, kGroups);
  for (std::uint64_t number = 0; number < groups; ++number) {
    const std::string group = iri("researchGroup", number);
    out_.state(group, "type", Statements::thing("ResearchGroup"));
    out_.state(group, "subOrganizationOf", self_);
  }
}

void Department::undergraduates() {
  const std::uint64_t people = faculty_ * between(random_, kUndergraduatesPerFaculty);
  for (std::uint64_t number = 0; number < people; ++number) {
    const std::string who = iri("undergraduate", number);
    out_.state(who, "type", Statements::thing("UndergraduateStudent"));
    out_.state(who, "type", Statements::thing("Student"));
    person(who, "undergraduate", number);
    out_.state(who, "memberOf", self_);
    for (const std::string& course :
         pick_some(undergraduate_courses_, between(random_, kCoursesTaken))) {
      out_.state(who, "takesCourse", course);
    }
    if (random_.chance(kUndergraduateHasAdvisor)) out_.state(who, "advisor", pick(professors_));
  }
}

void Department::graduates() {
  const std::uint64_t people = faculty_ * between(random_, kGraduatesPerFaculty);
  for (std::uint64_t number = 0; number < people; ++number) {
    const std::string who = iri("graduate", number);
    out_.state(who, "type", Statements::thing("GraduateStudent"));
    out_.state(who, "type", Statements::thing("Student"));
    person(who, "graduate", number);
    out_.state(who, "memberOf", self_);
    degree(who, "undergraduateDegreeFrom");
    for (const std::string& course :
         pick_some(graduate_courses_, between(random_, kGraduateCoursesTaken))) {
      out_.state(who, "takesCourse", course);
    }
    out_.state(who, "advisor", pick(professors_));
    if (random_.chance(kGraduateAssists)) {
      out_.state(who, "type", Statements::thing("TeachingAssistant"));
      out_.state(who, "teachingAssistantOf", pick(undergraduate_courses_));
    }
    graduates_.push_back(who);
  }
}

void Department::publications() {
  for (const Author& author : authors_) {
    for (std::uint64_t number = 0; number < author.publications; ++number) {
      const std::string publication =
          department_iri(place_, fmt::format("{}/publication{}", author.label, number));
      out_.state(publication, "type", Statements::thing("Publication"));
      out_.state(publication, "year",
                 spell_integer(static_cast<std::int64_t>(between(random_, kYears))));
      out_.state(publication, "publicationAuthor", author.who);
      for (const std::string& with : pick_some(graduates_, between(random_, kCoAuthors))) {
        out_.state(publication, "publicationAuthor", with);
      }
      cite(publication);
    }
  }
}

// Something that exists whatever the number of universities: of this one or of one before it.
void Department::cite(const std::string& publication) {
  const std::uint64_t citations = between(random_, kCitations);
  for (std::uint64_t i = 0; i < citations; ++i) {
    const DepartmentPlace place{random_.below(place_.university + 1),
                                random_.below(kDepartments.low)};
    const std::uint64_t professor = random_.below(kRanks[0].people.low);
    const std::uint64_t number = random_.below(kRanks[0].publications.low);
    const std::string cited = department_iri(
        place, fmt::format("{}{}/publication{}", kRanks[0].label, professor, number));
    if (cited != publication) out_.state(publication, "cites", cited);
  }
}

void Department::person(const std::string& who, std::string_view label, std::uint64_t number) {
  out_.state(who, "name", spell_string(fmt::format("{}{}", label, number)));
  out_.state(who, "emailAddress",
             spell_string(fmt::format("{}{}@department{}.university{}.example", label, number,
                                      place_.department, place_.university)));
  const std::uint64_t exchange = random_.below(1000);
  out_.state(who, "telephone",
             spell_string(fmt::format("{:03}-{:03}-{:04}", place_.university % 1000, exchange,
                                      random_.below(10'000))));
}

void Department::degree(const std::string& who, std::string_view property) {
  out_.state(who, property, university_iri(random_.below(kDegreeUniversities)));
}

const std::string& Department::pick(const std::vector<std::string>& from) {
  return from[random_.below(from.size())];
}

std::vector<std::string> Department::pick_some(const std::vector<std::string>& from,
                                               std::uint64_t count) {
  std::vector<std::string> some;
  while (some.size() < std::min<std::uint64_t>(count, from.size())) {
    const std::string& one = pick(from);
    if (std::ranges::find(some, one) == some.end()) some.push_back(one);
  }
  return some;
}

std::string Department::iri(std::string_view label, std::uint64_t number) const {
  return department_iri(place_, fmt::format("{}{}", label, number));
}

}  // namespace godwit::graph
