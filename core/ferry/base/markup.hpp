// Text inside of XML, SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

// The text with what means something there written as entities: fit for content, and for attributes in double quotes.
std::string markup_escaped(std::string_view text);

}  // namespace ferry
