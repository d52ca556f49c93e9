#include <ferry/sim/litmus/profile.hpp>

namespace ferry::sim::litmus {
namespace {

constexpr Extent none = Extent::none;
constexpr Extent same = Extent::same_location;
constexpr Extent all = Extent::all;

// clang-format off
constexpr std::array<Profile, kProfiles> kProfileTable = {{
    // In-order placement per queue, as on classic hardware.
    {ProfileName::strict, {{
        //                   writes under way  put reads  put writes  atomic writes  results
        /* put_read      */ {all,              all,       none,       none,          none},
        /* put_write     */ {none,             none,      all,        all,           none},
        /* get_read      */ {all,              none,      all,        all,           none},
        /* get_result    */ {none,             none,      none,       none,          all},
        /* atomic_read   */ {all,              none,      all,        all,           none},
        /* atomic_write  */ {none,             none,      none,       none,          none},
        /* atomic_result */ {none,             none,      none,       none,          all},
    }}, all},
    // What the manual page promises, no more.
    {ProfileName::portable, {{
        //                   writes under way  put reads  put writes  atomic writes  results
        /* put_read      */ {same,             none,      none,       none,          none},
        /* put_write     */ {none,             none,      same,       same,          none},
        /* get_read      */ {same,             none,      same,       all,           none},
        /* get_result    */ {none,             none,      none,       none,          same},
        /* atomic_read   */ {same,             none,      same,       same,          none},
        /* atomic_write  */ {none,             none,      none,       none,          none},
        /* atomic_result */ {none,             none,      none,       none,          same},
    }}, same},
    // Memory registered for relaxed ordering: what is written later may land before what was written earlier.
    {ProfileName::relaxed, {{
        //                   writes under way  put reads  put writes  atomic writes  results
        /* put_read      */ {same,             none,      none,       none,          none},
        /* put_write     */ {none,             none,      none,       same,          none},
        /* get_read      */ {same,             none,      same,       all,           none},
        /* get_result    */ {none,             none,      none,       none,          same},
        /* atomic_read   */ {same,             none,      same,       same,          none},
        /* atomic_write  */ {none,             none,      none,       none,          none},
        /* atomic_result */ {none,             none,      none,       none,          same},
    }}, same},
    // A read may see what was there before an earlier write as well.
    {ProfileName::unordered, {{
        //                   writes under way  put reads  put writes  atomic writes  results
        /* put_read      */ {same,             none,      none,       none,          none},
        /* put_write     */ {none,             none,      none,       same,          none},
        /* get_read      */ {none,             none,      none,       all,           none},
        /* get_result    */ {none,             none,      none,       none,          same},
        /* atomic_read   */ {same,             none,      same,       same,          none},
        /* atomic_write  */ {none,             none,      none,       none,          none},
        /* atomic_result */ {none,             none,      none,       none,          same},
    }}, same},
}};
// clang-format on

}  // namespace

const Profile& profile_of(ProfileName name) noexcept {
  return kProfileTable[static_cast<std::size_t>(name)];
}

}  // namespace ferry::sim::litmus
