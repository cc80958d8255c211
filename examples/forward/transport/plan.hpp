// The plan of the building: what each place is made of, between floor and roof.
#pragma once

#include <array>
#include <string_view>

namespace gallery::transport {

// A letter is four cells wide: '#' concrete, 'L' lead, '~' water, ' ' air, '*' air with the source.
inline constexpr int kCellsPerLetter = 4;
inline constexpr std::array<std::string_view, 32> kPlan{
    "################################################",
    "################################################",
    "##                ##                          ##",
    "##                ##                          ##",
    "##                ##                          ##",
    "##                ##        ~~~~~~            ##",
    "##      LL        ##       ~~~~~~~~           ##",
    "##      LL        ##      ~~~~~~~~~~          ##",
    "##                ##      ~~~~~~~~~~          ##",
    "##                ##      ~~~~~~~~~~          ##",
    "##                ##       ~~~~~~~~           ##",
    "##                          ~~~~~~            ##",
    "##                                            ##",
    "##                                            ##",
    "##                ##                          ##",
    "##       *        ##                          ##",
    "##                ##############    ############",
    "##                ##############    ############",
    "##                ##        ##                ##",
    "##                ##        ##                ##",
    "##                ##        ##                ##",
    "##                ##        ##    LL    LL    ##",
    "##   LL      LL   ##        ##    LL    LL    ##",
    "##   LL      LL   ##        ##                ##",
    "##                ##                          ##",
    "##                ##                          ##",
    "##                ##                          ##",
    "##                ##        ##    LL    LL    ##",
    "##                ##        ##    LL    LL    ##",
    "##                ##        ##                ##",
    "################################################",
    "################################################"};

}  // namespace gallery::transport
