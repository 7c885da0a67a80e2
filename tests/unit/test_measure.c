/* Agreement of measures: results with each other, and with what a run asks for. */
#include "histogram/measure.h"
#include "histogram/result.h"
#include "tests/support/test.h"

#include <string.h>

static const struct ih_measure plain = {.luma = &ih_luma_bt709, .clip_high = 255};

/* Adds a result of a measure. part: of the message; NULL: it agrees. */
static void add(struct ih_joint_measure *joint, struct ih_measure measure, const char *part)
{
    const struct ih_result result = {.measure = measure, .is_read = true};
    const struct ih_joint_measure before = *joint;
    struct ih_error err = {0};
    const enum ih_status status = ih_joint_measure_add(joint, &result, &err);
    assert_int_equal(status, part ? IH_USAGE : IH_OK);
    if (part && !strstr(err.message, part))
        fail_msg("%s: lacks %s", err.message, part);
    if (part)
        assert_memory_equal(joint, &before, sizeof before);
}

TEST(each_value_is_compared_with_the_results_before)
{
    struct ih_measure first = plain, other[7];
    static const char *const parts[] = {"luma weights bt601; the others have bt709",
                                        "clip limits 1,255; the others have 0,255",
                                        "alpha skip-transparent; the others have count",
                                        "round((v-0)*255/4095); the others have round(v*255/max)",
                                        "region none; the others have 5x5+0+0",
                                        "mask n.png; the others have m.png",
                                        "another mask of the same name, m.png"};
    first.region = "5x5+0+0";
    first.mask = "m.png";
    first.mask_hash = 7;
    for (int i = 0; i < 7; i++)
        other[i] = first;
    other[0].luma = &ih_luma_bt601;
    other[1].clip_low = 1;
    other[2].alpha = IH_ALPHA_SKIP_TRANSPARENT;
    other[3].range.high = 4095;
    other[4].region = NULL;
    other[5].mask = "n.png";
    other[6].mask_hash = 8;
    struct ih_joint_measure joint = {.asked = plain};
    add(&joint, first, NULL);
    for (int i = 0; i < 7; i++)
        add(&joint, other[i], parts[i]);
    add(&joint, first, NULL);
    const struct ih_measure common = ih_joint_measure_get(&joint);
    assert_string_equal(common.region, "5x5+0+0");
    assert_string_equal(common.mask, "m.png");
    assert_int_equal(common.mask_hash, 7);
}

/* Defaults of the run are no demands. */
TEST(only_stated_values_are_asked_for)
{
    struct ih_measure asked = plain, other = plain;
    other.luma = &ih_luma_bt601;
    other.clip_low = 1;
    other.alpha = IH_ALPHA_SKIP_TRANSPARENT;
    other.range.high = 4095;
    other.region = "5x5+0+0";
    other.type = IH_UINT16;
    other.n_bins = 1024;
    other.clip_high = 1023;
    add(&(struct ih_joint_measure){.asked = asked}, other, NULL);
    asked.stated = IH_STATED_LUMA;
    add(&(struct ih_joint_measure){.asked = asked}, other, "; this run asks for bt709");
    asked.stated = IH_STATED_CLIP;
    add(&(struct ih_joint_measure){.asked = asked}, other, "; this run asks for 0,255");
    asked.stated = IH_STATED_ALPHA;
    add(&(struct ih_joint_measure){.asked = asked}, other, "; this run asks for count");
    asked.stated = IH_STATED_BINS;
    add(&(struct ih_joint_measure){.asked = asked}, other, "native bins; this run asks for 256");
    asked = plain;
    asked.mask = "m.png";
    add(&(struct ih_joint_measure){.asked = asked}, other, "; this run asks for none");
}

/* Limits follow from the bins, unless the user gave them. */
TEST(clip_limits_of_other_bins)
{
    struct ih_measure deep = plain, asked = plain;
    struct ih_count_spec spec = {.layout = IH_LAYOUT(3), .type = IH_UINT16, .n_bins = 4096};
    deep.takes_native = true;
    deep.clip_high = 0;
    asked = deep;
    assert_int_equal(ih_measure_image(&deep, &spec, NULL), IH_OK);
    assert_int_equal(deep.clip_high, 4095);
    assert_int_equal(spec.clip_high, 4095);
    assert_int_equal(spec.n_bins, 4096);
    struct ih_joint_measure joint = {.asked = asked};
    add(&joint, plain, NULL);
    add(&joint, deep, NULL);
    /* a lower limit only: the upper one is still the largest value of each image */
    asked.stated = IH_STATED_CLIP;
    asked.clip_low = deep.clip_low = 5;
    add(&(struct ih_joint_measure){.asked = asked}, deep, NULL);
    asked.clip_high = 300;
    spec = (struct ih_count_spec){.layout = IH_LAYOUT(1), .n_bins = IH_BINS};
    assert_int_equal(ih_measure_image(&asked, &spec, NULL), IH_UNSUPPORTED);
}
