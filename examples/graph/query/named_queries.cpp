#include "query/named_queries.hpp"

#include <algorithm>

namespace godwit::graph {
namespace {

constexpr NamedQuery kQueries[] = {
    {"q1", "graduate students who take one course",
     "SELECT ?student WHERE {\n"
     "  ?student a ub:GraduateStudent .\n"
     "  ?student ub:takesCourse <http://university0.example/department0/graduateCourse0> .\n"
     "}"},
    {"q2", "graduates who study where they got their first degree: a triangle",
     "SELECT ?student ?university ?department WHERE {\n"
     "  ?student a ub:GraduateStudent .\n"
     "  ?department ub:subOrganizationOf ?university .\n"
     "  ?student ub:memberOf ?department .\n"
     "  ?student ub:undergraduateDegreeFrom ?university .\n"
     "}",
     true},
    {"q3", "what one professor has published since 2010",
     "SELECT ?publication ?year WHERE {\n"
     "  ?publication ub:publicationAuthor\n"
     "    <http://university0.example/department0/assistantProfessor0> .\n"
     "  ?publication ub:year ?year .\n"
     "  FILTER(?year >= 2010)\n"
     "}"},
    {"q4", "the professors of one department, and how to reach them",
     "SELECT ?professor ?name ?email ?telephone WHERE {\n"
     "  ?professor ub:worksFor <http://university0.example/department0/> .\n"
     "  ?professor a ub:Professor .\n"
     "  ?professor ub:name ?name .\n"
     "  ?professor ub:emailAddress ?email .\n"
     "  ?professor ub:telephone ?telephone .\n"
     "}"},
    {"q5", "who teaches the courses that a student takes",
     "SELECT ?course ?teacher WHERE {\n"
     "  <http://university0.example/department0/undergraduate0> ub:takesCourse ?course .\n"
     "  ?teacher ub:teacherOf ?course .\n"
     "}",
     true},
    {"q6", "recent publications that cite very old ones",
     "SELECT ?publication ?cited WHERE {\n"
     "  ?publication ub:cites ?cited .\n"
     "  ?publication ub:year ?year .\n"
     "  ?cited ub:year ?before .\n"
     "  FILTER(?year >= 2023 && ?before < 1997)\n"
     "}",
     true},
    {"q7", "students in the courses of one professor",
     "SELECT ?student ?course WHERE {\n"
     "  <http://university0.example/department0/associateProfessor0> ub:teacherOf ?course .\n"
     "  ?student ub:takesCourse ?course .\n"
     "  ?student a ub:Student .\n"
     "}",
     true},
    {"q8", "every student of one university",
     "SELECT ?student ?department ?email WHERE {\n"
     "  ?department ub:subOrganizationOf <http://university0.example/> .\n"
     "  ?department a ub:Department .\n"
     "  ?student ub:memberOf ?department .\n"
     "  ?student a ub:Student .\n"
     "  ?student ub:emailAddress ?email .\n"
     "}",
     true},
    {"q9", "students who take a course of their own advisor: a triangle",
     "SELECT ?student ?advisor ?course WHERE {\n"
     "  ?student a ub:Student .\n"
     "  ?student ub:advisor ?advisor .\n"
     "  ?advisor ub:teacherOf ?course .\n"
     "  ?student ub:takesCourse ?course .\n"
     "}",
     true},
    {"q10", "whose work the people of one department cite: five hops",
     "SELECT DISTINCT ?author ?other ?elsewhere WHERE {\n"
     "  ?author ub:worksFor <http://university0.example/department0/> .\n"
     "  ?publication ub:publicationAuthor ?author .\n"
     "  ?publication ub:cites ?cited .\n"
     "  ?cited ub:publicationAuthor ?other .\n"
     "  ?other ub:worksFor ?elsewhere .\n"
     "  FILTER(?elsewhere != <http://university0.example/department0/>)\n"
     "}",
     true},
};

}  // namespace

std::span<const NamedQuery> named_queries() {
  return kQueries;
}

const NamedQuery* find_named_query(std::string_view name) {
  const auto found = std::ranges::find(kQueries, name, &NamedQuery::name);
  return found == std::ranges::end(kQueries) ? nullptr : found;
}

}  // namespace godwit::graph
