#include "histogram/measure.h"

#include "histogram/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

void ih_reduction_print(struct ih_sample_range range, bool is_native, char text[IH_REDUCTION_BYTES])
{
    if (range.high == 0)
        strcpy(text, is_native ? "none" : IH_REDUCTION);
    else if (is_native)
        snprintf(text, IH_REDUCTION_BYTES, "clamp(v,%u,%u)", (unsigned)range.low,
                 (unsigned)range.high);
    else
        snprintf(text, IH_REDUCTION_BYTES, "round((v-%u)*255/%u)", (unsigned)range.low,
                 (unsigned)(range.high - range.low));
}

bool ih_reduction_parse(const char *text, bool is_native, struct ih_sample_range *range)
{
    char again[IH_REDUCTION_BYTES];
    unsigned low = 0, high = 0;
    *range = (struct ih_sample_range){0, 0};
    if (!is_native && strcmp(text, IH_REDUCTION) == 0)
        return true;
    if (sscanf(text, "round((v-%5u)*255/%5u)", &low, &high) == 2)
        high += low;
    else
        sscanf(text, "clamp(v,%5u,%5u)", &low, &high);
    if (low < high && high <= UINT16_MAX)
        *range = (struct ih_sample_range){(uint16_t)low, (uint16_t)high};
    ih_reduction_print(*range, is_native, again);
    return strcmp(text, again) == 0;
}

void ih_nodata_print(struct ih_nodata nodata, char text[IH_NODATA_BYTES])
{
    strcpy(text, nodata.kind == IH_NODATA_NONE ? "none" : "");
    for (int digits = 15; nodata.kind == IH_NODATA_OF_RUN && digits <= 17; digits++) {
        snprintf(text, IH_NODATA_BYTES, "%.*g", digits, nodata.value);
        if (strtod(text, NULL) == nodata.value)
            break;
    }
}

bool ih_nodata_parse(const char *text, struct ih_nodata *nodata)
{
    char *end;
    *nodata = (struct ih_nodata){IH_NODATA_NONE, 0};
    if (strcmp(text, "none") == 0)
        return true;
    *nodata = (struct ih_nodata){IH_NODATA_OF_RUN, strtod(text, &end) + 0.0}; /* no -0 */
    return end > text && *end == '\0' && isfinite(nodata->value) && !strpbrk(text, " xX");
}

const char *ih_alpha_name(enum ih_alpha alpha)
{
    return alpha == IH_ALPHA_SKIP_TRANSPARENT ? "skip-transparent" : "count";
}

/* ---- of an image ---- */

void ih_measure_levels(struct ih_measure *m, const struct ih_image_info *info)
{
    const struct ih_levels *const l = &info->levels;
    const unsigned black = ih_levels_black(info);
    if (l->white == 0)
        return;
    m->takes_native = m->has_levels = true;
    if (!(m->stated & IH_STATED_CLIP) && black < l->white && l->white < info->n_bins) {
        m->clip_low = (uint16_t)black;
        m->clip_high = l->white;
    }
}

enum ih_status ih_measure_image(struct ih_measure *m, struct ih_count_spec *spec,
                                struct ih_error *err)
{
    const unsigned largest = spec->n_bins - 1;
    const bool is_unsigned = ih_is_unsigned(spec->type);
    if (!is_unsigned && (m->clip_low > 0 || m->clip_high > 0))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "clip limits are for unsigned samples, and it has samples of %s",
                            ih_sample_type_name(spec->type));
    if (!is_unsigned && m->range.high > 0)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "a range is for unsigned samples, and it has samples of %s",
                            ih_sample_type_name(spec->type));
    if (spec->layout.n_colours == 0 || ih_is_float(spec->type))
        m->luma = &ih_luma_none;
    m->type = spec->type;
    m->n_bins = spec->n_bins;
    m->clip_high = m->clip_high ? m->clip_high : (uint16_t)largest;
    spec->luma = m->luma;
    spec->clip_low = m->clip_low;
    spec->clip_high = m->clip_high;
    return m->clip_high <= largest && m->clip_low < m->clip_high
               ? IH_OK
               : ih_error_set(err, IH_UNSUPPORTED,
                              "its largest value is %u, but the clip limits are %u and %u", largest,
                              (unsigned)m->clip_low, (unsigned)m->clip_high);
}

/* ---- agreement ---- */

/* own, other: NULL or "": none */
static enum ih_status differ(bool is_asked, const char *what, const char *own, const char *other,
                             struct ih_error *err)
{
    return ih_error_set(
        err, IH_USAGE, "counted with %s %.80s; %s %.80s", what, own && *own ? own : "none",
        is_asked ? "this run asks for" : "the others have", other && *other ? other : "none");
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || strcmp(a ? a : "", b ? b : "") == 0;
}

/* Images of other bins, and sensors, have other limits by default, unless the limits are asked for.
 */
static bool agree_clips(const struct ih_measure *m, bool is_asked, const struct ih_measure *own)
{
    if (!is_asked && (m->n_bins != own->n_bins || m->has_levels || own->has_levels))
        return true;
    return m->clip_low == own->clip_low &&
           ((is_asked && m->clip_high == 0) || m->clip_high == own->clip_high);
}

/* Whether the bins of a record are those asked for. Images are counted again as the run asks. */
static bool agree_bins(const struct ih_measure *asked, const struct ih_result *r)
{
    const bool is_deep = r->is_total ? r->info.extremes.end > IH_BINS : r->info.source_depth > 8;
    if (!r->is_read || !(asked->stated & IH_STATED_BINS) || !ih_is_unsigned(r->measure.type))
        return true;
    const bool is_native = ih_is_native(r->measure.type);
    return asked->takes_native ? is_native || !is_deep : !is_native;
}

static bool may_have_luma(const struct ih_result *r)
{
    return !ih_is_float(r->measure.type) && !ih_layout_has_bands(r->histogram.layout);
}

/* The agreement, a line for each value. A run demands only the values that the user gave. */
static enum ih_status check(const struct ih_joint_measure *j, const struct ih_result *r,
                            struct ih_error *err)
{
    const bool is_asked = !j->has_results;
    const struct ih_measure common = ih_joint_measure_get(j);
    const struct ih_measure *m = is_asked ? &j->asked : &common, *own = &r->measure;
    const unsigned stated = is_asked ? m->stated : ~0u;
    const bool has_selection = !is_asked || m->region || m->mask;
    char a[IH_REDUCTION_BYTES], b[IH_REDUCTION_BYTES], c[IH_NODATA_BYTES], d[IH_NODATA_BYTES];
    const struct ih_luma_weights *const luma = is_asked ? m->luma : j->luma;
    if ((stated & IH_STATED_LUMA) && luma && may_have_luma(r) && luma != own->luma)
        return differ(is_asked, "luma weights", own->luma->name, luma->name, err);
    if ((stated & IH_STATED_CLIP) && !agree_clips(m, is_asked, own)) {
        snprintf(a, sizeof a, "%u,%u", (unsigned)own->clip_low, (unsigned)own->clip_high);
        snprintf(b, sizeof b, "%u,%u", (unsigned)m->clip_low, (unsigned)m->clip_high);
        return differ(is_asked, "clip limits", a, b, err);
    }
    if (!agree_bins(&j->asked, r))
        return ih_error_set(err, IH_USAGE, "counted with %s bins; this run asks for %s",
                            ih_is_native(own->type) ? "native" : "256",
                            ih_is_native(own->type) ? "256" : "native ones");
    if ((stated & IH_STATED_ALPHA) && m->alpha != own->alpha)
        return differ(is_asked, "alpha", ih_alpha_name(own->alpha), ih_alpha_name(m->alpha), err);
    if ((stated & IH_STATED_NODATA) &&
        (m->nodata.kind != own->nodata.kind || m->nodata.value != own->nodata.value)) {
        ih_nodata_print(own->nodata, c);
        ih_nodata_print(m->nodata, d);
        return differ(is_asked, "nodata", *c ? c : "of the files", *d ? d : "of the files", err);
    }
    if ((!is_asked || m->range.high) &&
        (m->range.low != own->range.low || m->range.high != own->range.high)) {
        ih_reduction_print(own->range, ih_is_native(own->type), a);
        ih_reduction_print(m->range, ih_is_native(m->type), b);
        return differ(is_asked, "samples reduced by", a, b, err);
    }
    if (has_selection && !is_same_text(m->region, own->region))
        return differ(is_asked, "region", own->region, m->region, err);
    if (has_selection && !is_same_text(m->mask, own->mask))
        return differ(is_asked, "mask", own->mask, m->mask, err);
    if (!is_asked && m->mask_hash && own->mask_hash && m->mask_hash != own->mask_hash)
        return ih_error_set(err, IH_USAGE, "counted with another mask of the same name, %.80s",
                            own->mask ? own->mask : "");
    return IH_OK;
}

enum ih_status ih_joint_measure_add(struct ih_joint_measure *j, const struct ih_result *r,
                                    struct ih_error *err)
{
    const struct ih_measure *own = &r->measure;
    if (r->status != IH_OK)
        return IH_OK;
    if (check(j, r, err) != IH_OK)
        return IH_USAGE;
    if (!j->has_results) {
        snprintf(j->region, sizeof j->region, "%s", own->region ? own->region : "");
        snprintf(j->mask, sizeof j->mask, "%s", own->mask ? own->mask : "");
    }
    const uint64_t mask_hash = own->mask_hash ? own->mask_hash : j->common.mask_hash;
    j->common = *own;
    j->common.mask_hash = mask_hash;
    if (may_have_luma(r))
        j->luma = own->luma;
    j->has_results = true;
    return IH_OK;
}

struct ih_measure ih_joint_measure_get(const struct ih_joint_measure *j)
{
    struct ih_measure m = j->has_results ? j->common : j->asked;
    if (j->has_results) {
        m.region = *j->region ? j->region : NULL;
        m.mask = *j->mask ? j->mask : NULL;
    } else {
        m.clip_high = m.clip_high ? m.clip_high : IH_BINS - 1;
        m.mask_hash = 0;
    }
    return m;
}
