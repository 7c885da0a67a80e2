/* The table of outputs, and the number formats that they share. */
#include "output/output.h"

#include <math.h>
#include <string.h>

const struct ih_output *const ih_outputs[] = {
#define OUTPUT(name) &ih_output_##name,
#include "output/outputs.def"
#undef OUTPUT
    NULL,
};

const char *ih_format_real(double v, char text[IH_REAL_MAX])
{
    text[0] = '\0';
    if (isnan(v))
        return text;
    long long millionths = llround(fabs(v) * 1e6);
    snprintf(text, IH_REAL_MAX, "%s%lld.%06lld", v < 0 && millionths != 0 ? "-" : "",
             millionths / 1000000, millionths % 1000000);
    return text;
}

char *ih_format_count(char *text, uint64_t n)
{
    char digits[IH_COUNT_MAX];
    size_t first = IH_COUNT_MAX;
    do {
        digits[--first] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    memcpy(text, digits + first, IH_COUNT_MAX - first);
    return text + (IH_COUNT_MAX - first);
}
