// The training run: the root's part of the program.
#pragma once

#include "settings.hpp"

namespace parameter_server {

// Runs on the transport of the settings. 0: trained and everything held; 1: failed, with one line on stderr.
int run(const Settings& settings);

}  // namespace parameter_server
