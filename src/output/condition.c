/* A recursive descent parser, and the evaluation of its nodes. */
#include "output/condition.h"

#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NODES_MAX = 256, DEPTH_MAX = 32 };

enum truth { NO, YES, UNKNOWN };

struct operand {
    bool is_field, is_percentage, is_pixels;
    struct ih_named_field field;
    enum ih_value_type type;
    double number;
    char *text; /* in the condition's text */
};

/* A set of the orders that it is true for. */
enum comparison {
    LESS = 1,
    EQUAL = 2,
    GREATER = 4,
    LESS_OR_EQUAL = LESS | EQUAL,
    NOT_EQUAL = LESS | GREATER,
    GREATER_OR_EQUAL = EQUAL | GREATER,
    MATCH = 8, /* a pattern */
    NO_MATCH = 16
};

struct node {
    enum { COMPARE, NOT, AND, OR } kind;
    unsigned left, right; /* indices of nodes; NOT uses only left */
    enum comparison comparison;
    struct operand operands[2];
};

struct ih_condition {
    char *text; /* owned; quotes at the end of texts are NUL */
    struct node nodes[NODES_MAX];
    unsigned n_nodes, root;
};

/* ---- tokens ---- */

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_OPERATOR };

struct parser {
    struct ih_condition *condition;
    const struct ih_field_set *fields;
    struct ih_error *err;
    char *at; /* the first byte of the current token */
    size_t n; /* the length of the token */
    enum token_kind kind;
    unsigned depth; /* of parentheses and "not" */
};

static enum ih_status condition_fail(const struct parser *p, const char *what)
{
    return ih_error_set(p->err, IH_USAGE, "column %zu: %s",
                        (size_t)(p->at - p->condition->text) + 1, what);
}

/* Names have no capitals, but a message about a wrong name shows all of it. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_byte(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* Whether it is the minus of a name such as share_lt_-5. */
static bool is_limit_sign(const char *at)
{
    return *at == '-' && at[-1] == '_';
}

/* The bytes of blanks and one of these words at text, or 0. */
static size_t unit_bytes(const char *text)
{
    static const char *const units[] = {"%", "pixels", "pixel"};
    const size_t n_blanks = strspn(text, " \t\n");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n = strlen(units[i]);
        if (strncmp(text + n_blanks, units[i], n) == 0 && !is_name_byte(text[n_blanks + n]))
            return n_blanks + n;
    }
    return 0;
}

/* Goes on to the next token. */
static enum ih_status advance(struct parser *p)
{
    static const char digits[] = "0123456789";
    p->at += p->n;
    p->at += strspn(p->at, " \t\n");
    const char c = *p->at;
    if (c == '\0') {
        p->kind = TOKEN_END;
        p->n = 0;
    } else if (is_letter(c)) {
        p->kind = TOKEN_NAME;
        for (p->n = 1; is_name_byte(p->at[p->n]) || is_limit_sign(p->at + p->n);)
            p->n++;
    } else if (c == '"' || c == '\'') {
        const char *end = strchr(p->at + 1, c);
        if (!end)
            return condition_fail(p, "the quote has no end");
        p->kind = TOKEN_TEXT;
        p->n = (size_t)(end - p->at) + 1;
    } else if (strchr("0123456789.-", c)) {
        p->kind = TOKEN_NUMBER;
        p->n = c == '-';
        const size_t n_before = strspn(p->at + p->n, digits);
        p->n += n_before;
        const size_t n_after = p->at[p->n] == '.' ? strspn(p->at + p->n + 1, digits) : 0;
        p->n += n_after > 0 ? n_after + 1 : 0;
        if (n_before + n_after == 0 || n_before > 20 || n_after > 20)
            return condition_fail(p, "not a number");
        p->n += unit_bytes(p->at + p->n);
        if (is_name_byte(p->at[p->n]))
            return condition_fail(p, "not a number in plain digits, as 5, 0.5 or 5%");
    } else if (strchr("<>=!()~", c)) {
        p->kind = TOKEN_OPERATOR;
        p->n = (c != '(' && c != ')' && p->at[1] == '=') || (c == '!' && p->at[1] == '~') ? 2 : 1;
    } else {
        return condition_fail(p, strchr("&|", c) ? "write and, or, not"
                                                 : "not a field, number, quoted text or operator");
    }
    return IH_OK;
}

static bool is_token(const struct parser *p, const char *text)
{
    return p->kind != TOKEN_TEXT && strlen(text) == p->n && memcmp(p->at, text, p->n) == 0;
}

/* Whether the token is "and", "or" or "not". They are an error in capitals. */
static bool is_joint(const struct parser *p)
{
    return (p->n == 2 && strncasecmp(p->at, "or", 2) == 0) ||
           (p->n == 3 && (strncasecmp(p->at, "and", 3) == 0 || strncasecmp(p->at, "not", 3) == 0));
}

/* ---- parsing ---- */

static enum ih_status add_node(struct parser *p, struct node node, unsigned *index)
{
    if (p->condition->n_nodes == NODES_MAX)
        return condition_fail(p, "the condition is too long");
    *index = p->condition->n_nodes++;
    p->condition->nodes[*index] = node;
    return IH_OK;
}

/* Decimal digits with an optional point, in every locale. */
static double number_of(const char *digits)
{
    double value = 0, unit = 1;
    const bool is_negative = *digits == '-';
    bool is_fraction = false;
    const size_t n = is_negative + strspn(digits + is_negative, "0123456789.");
    for (size_t i = is_negative; i < n; i++) {
        if (digits[i] == '.') {
            is_fraction = true;
            continue;
        }
        value = value * 10 + (digits[i] - '0');
        unit *= is_fraction ? 10 : 1;
    }
    return (is_negative ? -value : value) / unit;
}

/* The channel whose name is before the point in the token, if there is one; static. *name and *n:
 * the rest of the token. */
static const char *find_channel(const struct parser *p, const char **name, size_t *n)
{
    static const char *const channels[] = {"gray", "red", "green", "blue", "alpha", "luma"};
    const struct ih_layout bands = {IH_CHANNELS_MAX, 0, false};
    const char *const point = memchr(p->at, '.', p->n);
    const size_t n_channel = point ? (size_t)(point - p->at) : 0;
    unsigned band = 0;
    *name = p->at;
    *n = p->n;
    const char *found = NULL;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        if (strlen(channels[i]) == n_channel && memcmp(p->at, channels[i], n_channel) == 0)
            found = channels[i];
    if (n_channel > 4 && n_channel < 9 && memcmp(p->at, "band", 4) == 0)
        band = (unsigned)strtoul(p->at + 4, NULL, 10); /* ends before the point */
    const char *const of_band =
        band > 0 && band <= IH_CHANNELS_MAX ? ih_plane_name(bands, band - 1) : "";
    if (strlen(of_band) == n_channel && memcmp(p->at, of_band, n_channel) == 0)
        found = n_channel ? of_band : NULL;
    *name += found ? n_channel + 1 : 0;
    *n -= found ? n_channel + 1 : 0;
    return found;
}

/* Finds a statistic of a channel; is_choice: a percentile or share alone. */
static bool find_column(const struct parser *p, const char *name, size_t n, bool is_choice,
                        struct ih_column *out)
{
    if ((is_choice || !ih_channel_column_find(p->fields->of_channel, name, n, out)) &&
        !ih_choice_parse(name, n, out))
        return false;
    if (out->in & IH_BY_SIGMA)
        out->parameter = p->fields->sigma;
    return true;
}

/* "red.mean", "red.p99.9", or "p99.9" of the luma. */
static bool find_statistic(const struct parser *p, struct ih_named_field *out)
{
    const char *name;
    size_t n;
    const char *const channel = find_channel(p, &name, &n);
    if (!find_column(p, name, n, !channel, &out->column))
        return false;
    out->channel = channel ? channel : "luma";
    return true;
}

/* Whether an image may have the channel if only these bands are counted: red, green and blue are
 * the first three, or gray is the first. */
static bool may_have(const uint64_t *bands, const char *channel)
{
    unsigned number = 0;
    if (sscanf(channel, "band%u", &number) == 1)
        return bands[(number - 1) / 64] >> (number - 1) % 64 & 1;
    const bool needs_all = strcmp(channel, "gray") != 0 && strcmp(channel, "luma") != 0;
    const uint64_t needed = needs_all ? 7 : 1;
    return strcmp(channel, "alpha") == 0 || (bands[0] & needed) == needed;
}

static bool is_left_out(const struct parser *p, const struct ih_column *column)
{
    return p->fields->lacks_images && (column->in & IH_NULL_IN_TOTAL);
}

static enum ih_status unknown_field(const struct parser *p)
{
    const struct ih_field_set *const fields = p->fields;
    char nearest[IH_FIELD_NAME_MAX] = "", what[IH_MESSAGE_MAX];
    const char *name;
    size_t n;
    unsigned fewest = UINT_MAX;
    if (is_joint(p))
        return condition_fail(p,
                              "a field or number is missing; write and, or, not in small letters");
    for (const struct ih_field *f = ih_distance_fields; f->key; f++)
        if (is_token(p, f->key)) {
            snprintf(what, sizeof what,
                     "'%s' is a distance: --against=REF gives it, or --diff for --fail-if", f->key);
            return condition_fail(p, what);
        }
    for (const struct ih_column *const *c = fields->columns; *c; c++)
        if (is_left_out(p, *c) && is_token(p, (*c)->name)) {
            snprintf(what, sizeof what, "'%s' is of images; --total-only and --by write totals",
                     (*c)->name);
            return condition_fail(p, what);
        }
    for (const struct ih_column *const *c = fields->columns; *c; c++)
        if (!is_left_out(p, *c) && ih_word_is_nearer(p->at, p->n, (*c)->name, &fewest))
            snprintf(nearest, sizeof nearest, "%s", (*c)->name);
    const char *channel = find_channel(p, &name, &n);
    for (const struct ih_column *const *c = fields->of_channel; c && *c; c++)
        if (ih_word_is_nearer(name, n, (*c)->name, &fewest))
            snprintf(nearest, sizeof nearest, "%s.%s", channel ? channel : "luma", (*c)->name);
    snprintf(what, sizeof what, "no field '%.*s'; %s%s%s%s", p->n > 40 ? 40 : (int)p->n, p->at,
             *nearest ? "did you mean " : "", nearest, *nearest ? "? " : "", fields->which);
    return condition_fail(p, what);
}

/* Finds the field that the token names. */
static enum ih_status find_field(const struct parser *p, struct ih_named_field *out)
{
    const struct ih_column *column = ih_column_find(p->fields->columns, p->at, p->n);
    for (size_t i = 0; i < IH_N_FIELDS && !column && p->fields->of_channel; i++)
        if ((ih_schema[i].in & (IH_OF_COPIES | IH_OF_LABELS)) && is_token(p, ih_schema[i].name))
            column = &ih_schema[i];
    if (column && !is_left_out(p, column))
        out->column = *column;
    else if (p->n >= IH_FIELD_NAME_MAX || !p->fields->of_channel || !find_statistic(p, out))
        return unknown_field(p);
    if (p->fields->lacks_luma && (out->column.in & IH_OF_CHANNEL) &&
        (!out->channel || strcmp(out->channel, "luma") == 0))
        return condition_fail(p, p->fields->lacks_luma);
    if (p->fields->bands && (out->column.in & IH_OF_CHANNEL) &&
        !may_have(p->fields->bands, out->channel ? out->channel : "luma"))
        return condition_fail(p, "a field of a channel that --bands leaves out");
    snprintf(out->name, sizeof out->name, "%.*s", (int)p->n, p->at);
    return IH_OK;
}

static enum ih_status parse_operand(struct parser *p, struct operand *out)
{
    switch (p->kind) {
    case TOKEN_NAME:
        if (find_field(p, &out->field) != IH_OK)
            return p->err->status;
        out->is_field = true;
        out->type = ih_column_type(&out->field.column);
        return advance(p);
    case TOKEN_NUMBER:
        out->type = IH_TYPE_REAL;
        out->is_percentage = p->at[p->n - 1] == '%';
        out->is_pixels = is_letter(p->at[p->n - 1]);
        out->number = number_of(p->at);
        return advance(p);
    case TOKEN_TEXT:
        out->type = IH_TYPE_TEXT;
        out->text = p->at + 1;
        p->at[p->n - 1] = '\0';
        return advance(p);
    case TOKEN_END:
    case TOKEN_OPERATOR:
        break;
    }
    return condition_fail(p, "a field, number or quoted text is missing");
}

static enum ih_status parse_operator(struct parser *p, enum comparison *out)
{
    static const struct {
        const char *sign;
        enum comparison comparison;
    } operators[] = {{"==", EQUAL},  {"!=", NOT_EQUAL},        {"<", LESS},  {"<=", LESS_OR_EQUAL},
                     {">", GREATER}, {">=", GREATER_OR_EQUAL}, {"~", MATCH}, {"!~", NO_MATCH}};
    for (unsigned i = 0; i < sizeof operators / sizeof *operators; i++)
        if (is_token(p, operators[i].sign)) {
            *out = operators[i].comparison;
            return advance(p);
        }
    const int after = is_token(p, "=") ? p->at[1] : 0;
    return condition_fail(p, after == '<'   ? "write <= to compare"
                             : after == '>' ? "write >= to compare"
                             : is_token(p, "=")
                                 ? "write == to compare"
                                 : "a comparison such as > is missing; quote the whole condition");
}

/* Refuses a text that the field never has. Converts the text to lower case, as in the field. */
static enum ih_status check_text(const struct parser *p, const struct operand *operand, char *text)
{
    static const char *const statuses[] = {"ok", "error", NULL};
    const struct ih_column *const field = &operand->field.column;
    const char *const *const texts = field->field.kind == IH_FIELD_STATUS   ? statuses
                                     : field->field.kind == IH_FIELD_FORMAT ? p->fields->formats
                                                                            : NULL;
    char what[IH_MESSAGE_MAX];
    if (!texts)
        return IH_OK;
    for (char *at = text; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    for (size_t i = 0; texts[i]; i++)
        if (strcmp(texts[i], text) == 0)
            return IH_OK;
    int n =
        snprintf(what, sizeof what, "%s is never '%.20s', but one of", operand->field.name, text);
    for (size_t i = 0; texts[i] && n < IH_MESSAGE_MAX; i++)
        n += snprintf(what + n, sizeof what - (size_t)n, "%s %s", i ? "," : "", texts[i]);
    return condition_fail(p, what);
}

/* Whether comparing a field, on the left side, with n has the same result for all values from low
 * to high. "<= high" and ">= low" are allowed. */
static bool decides_nothing(enum comparison comparison, double n, double low, double high)
{
    return n < low || n > high || (comparison == LESS && n == low) ||
           (comparison == GREATER && n == high);
}

/* The highest number of a field; 0: without end. Native values, their deviation and their entropy
 * go further than those of 8 bits. */
static double highest_of(double highest, const struct ih_column *field)
{
    const double more = highest / 255;
    return more > 1 && field->high == 8                 ? 16
           : field->high == 255 || field->high == 127.5 ? field->high * more
                                                        : field->high;
}

/* A bare number of pixels could be meant as a percentage. 0 is the same in both. */
static enum ih_status refuse_bare(const struct parser *p, const char *name, double n)
{
    char what[IH_MESSAGE_MAX], share[48] = "", pixels[48] = "";
    if (n <= 100)
        snprintf(share, sizeof share, "%.10g%% for a share of them", n < 1 ? 100 * n : n);
    if (n == floor(n))
        snprintf(pixels, sizeof pixels, "%s%.20g pixel%s", *share ? ", or " : "", n,
                 n == 1 ? "" : "s");
    snprintf(what, sizeof what, "%s counts pixels; write %s%s", name, share, pixels);
    return condition_fail(p, what);
}

/* Refuses a number whose unit is missing or wrong, and a comparison that decides nothing. */
static enum ih_status check_number(const struct parser *p, enum comparison comparison,
                                   const struct operand *operand, const struct operand *number)
{
    const struct ih_column *const field = &operand->field.column;
    const char *const name = operand->field.name;
    const double n = number->number, limit = highest_of(p->fields->highest, field);
    const double high = limit > 0 ? limit : HUGE_VAL;
    const bool is_integer = operand->type == IH_TYPE_INTEGER, has_share = field->in & IH_SHARE;
    const bool counts =
        field->field.kind == IH_FIELD_COUNT || field->field.kind == IH_FIELD_CLIPPED;
    char what[IH_MESSAGE_MAX];
    if (number->is_percentage && !has_share)
        return condition_fail(p, "the field has no percentage");
    if (number->is_percentage)
        return decides_nothing(comparison, n, 0, 100)
                   ? condition_fail(
                         p, "a percentage goes from 0 to 100: the comparison decides nothing")
                   : IH_OK;
    const bool is_of_values = field->high == 255 || field->high == 127.5 ||
                              field->field.offset_bytes == offsetof(struct ih_stats, sum);
    if (is_of_values && (field->in & IH_OF_CHANNEL) && isinf(p->fields->highest) &&
        !number->is_pixels)
        return IH_OK;
    if (is_integer && has_share && n > 0 && !number->is_pixels && (n <= 100 || n == floor(n)))
        return refuse_bare(p, name, n);
    if (number->is_pixels && !counts)
        snprintf(what, sizeof what, "%s is no number of pixels", name);
    else if (has_share && !is_integer && n > 1)
        snprintf(what, sizeof what, "%s goes from 0 to 1; write a percentage, as in 5%%", name);
    else if (field->in & IH_SIGNED)
        return IH_OK;
    else if (decides_nothing(comparison, n, 0, high) && limit > 0)
        snprintf(what, sizeof what, "%s goes from 0 to %.10g: the comparison decides nothing%s",
                 name, high,
                 decides_nothing(comparison, n, 0, highest_of(IH_NATIVE_BINS_MAX - 1, field))
                     ? ""
                     : " (without --bins=native)");
    else if (decides_nothing(comparison, n, 0, high))
        snprintf(what, sizeof what, "%s is never below 0: the comparison decides nothing", name);
    else if (is_integer && (comparison == EQUAL || comparison == NOT_EQUAL) && n != floor(n))
        snprintf(what, sizeof what, "%s is a whole number: the comparison decides nothing", name);
    else
        return IH_OK;
    return condition_fail(p, what);
}

/* The comparison with its sides exchanged. */
static enum comparison mirrored(enum comparison c)
{
    return (c & EQUAL) | (c & LESS ? GREATER : 0) | (c & GREATER ? LESS : 0);
}

static enum ih_status check_operands(const struct parser *p, enum comparison comparison,
                                     const struct operand *o)
{
    const unsigned field = !o[0].is_field; /* its index, if there is only one */
    const bool is_text = o[0].type == IH_TYPE_TEXT;
    if (comparison & (MATCH | NO_MATCH))
        return is_text && o[0].is_field && o[1].type == IH_TYPE_TEXT && !o[1].is_field
                   ? IH_OK
                   : condition_fail(p, "~ compares a field of text with a quoted pattern, as in "
                                       "file ~ '*.jpg'");
    if (is_text != (o[1].type == IH_TYPE_TEXT))
        return condition_fail(p, "a number is compared with a text");
    if (!o[0].is_field && !o[1].is_field)
        return condition_fail(p, "the comparison has no field");
    if (o[0].is_field && o[1].is_field)
        return is_text ? condition_fail(p, "two fields of text are compared; quote a text")
               : strcmp(o[0].field.name, o[1].field.name) == 0
                   ? condition_fail(p, "a field is compared with itself")
                   : IH_OK;
    if (!is_text)
        return check_number(p, field == 0 ? comparison : mirrored(comparison), &o[field],
                            &o[!field]);
    return comparison == EQUAL || comparison == NOT_EQUAL ? check_text(p, &o[field], o[!field].text)
                                                          : IH_OK;
}

static enum ih_status parse_comparison(struct parser *p, unsigned *index)
{
    struct node node = {.kind = COMPARE};
    char *start = p->at;
    enum ih_status status = parse_operand(p, &node.operands[0]);
    if (status == IH_OK)
        status = parse_operator(p, &node.comparison);
    if (status == IH_OK)
        status = parse_operand(p, &node.operands[1]);
    if (status == IH_OK) {
        struct parser whole = *p; /* the error is about the whole comparison */
        whole.at = start;
        status = check_operands(&whole, node.comparison, node.operands);
    }
    return status == IH_OK ? add_node(p, node, index) : status;
}

static enum ih_status parse_condition(struct parser *p, unsigned *index);

static enum ih_status parse_not(struct parser *p, unsigned *index)
{
    struct node node = {.kind = NOT};
    const bool negates = is_token(p, "not");
    if (!negates && !is_token(p, "("))
        return parse_comparison(p, index);
    if (p->depth == DEPTH_MAX)
        return condition_fail(p, "the condition is nested too deeply");
    p->depth++;
    enum ih_status status = advance(p);
    if (status == IH_OK)
        status = negates ? parse_not(p, &node.left) : parse_condition(p, index);
    p->depth--;
    if (status != IH_OK)
        return status;
    if (negates)
        return add_node(p, node, index);
    return is_token(p, ")") ? advance(p) : condition_fail(p, "a closing parenthesis is missing");
}

/* Parses terms, or factors, with "and" or "or" between them. */
static enum ih_status parse_chain(struct parser *p, const char *operator, int kind,
                                  enum ih_status (*parse)(struct parser *, unsigned *),
                                  unsigned *index)
{
    enum ih_status status = parse(p, index);
    while (status == IH_OK && is_token(p, operator)) {
        struct node node = {.left = *index};
        node.kind = kind == AND ? AND : OR;
        status = advance(p);
        if (status == IH_OK)
            status = parse(p, &node.right);
        if (status == IH_OK)
            status = add_node(p, node, index);
    }
    return status;
}

static enum ih_status parse_and(struct parser *p, unsigned *index)
{
    return parse_chain(p, "and", AND, parse_not, index);
}

static enum ih_status parse_condition(struct parser *p, unsigned *index)
{
    return parse_chain(p, "or", OR, parse_and, index);
}

enum ih_status ih_condition_parse(const char *text, const struct ih_field_set *fields,
                                  struct ih_condition **condition, struct ih_error *err)
{
    struct parser p = {.fields = fields, .err = err};
    p.condition = calloc(1, sizeof *p.condition);
    if (p.condition)
        p.at = p.condition->text = strdup(text);
    if (!p.at) {
        free(p.condition);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    enum ih_status status = advance(&p);
    if (status == IH_OK)
        status = parse_condition(&p, &p.condition->root);
    if (status == IH_OK && p.kind != TOKEN_END)
        status = condition_fail(&p, is_joint(&p) ? "write and, or, not in small letters"
                                                 : "'and' or 'or' is missing");
    if (status == IH_OK)
        *condition = p.condition;
    else
        ih_condition_free(p.condition);
    return status;
}

/* A field of a row: a statistic of its channel, or the channel's name. */
static bool find_field_of_row(const struct parser *p, struct ih_named_field *out)
{
    static const struct ih_column channel = {{NULL, IH_FIELD_NAME, 0, NULL}, "channel", 0, 0, 0};
    if (is_token(p, channel.name))
        out->column = channel;
    else if (p->n >= IH_FIELD_NAME_MAX || !find_column(p, p->at, p->n, false, &out->column))
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)p->n, p->at);
    out->is_of_row = true;
    return true;
}

/* Adds the field that the token names. */
static enum ih_status add_field(const struct parser *p, bool of_rows, struct ih_field_list *list)
{
    struct ih_named_field *const field = &list->fields[list->n];
    if (p->n == 0)
        return condition_fail(p, "the name of a field is missing");
    if (list->n == IH_FIELD_LIST_MAX)
        return condition_fail(p, "too many fields");
    *field = (struct ih_named_field){.channel = NULL};
    if (!(of_rows && find_field_of_row(p, field)) && find_field(p, field) != IH_OK)
        return p->err->status;
    for (unsigned i = 0; i < list->n; i++)
        if (strcmp(list->fields[i].name, field->name) == 0)
            return condition_fail(p, "the field is in the list already");
    list->n++;
    return IH_OK;
}

enum ih_status ih_field_list_parse(const char *text, const struct ih_field_set *fields,
                                   bool of_rows, struct ih_field_list *list, struct ih_error *err)
{
    struct ih_condition whole = {.text = strdup(text)};
    struct parser p = {
        .condition = &whole, .fields = fields, .err = err, .at = whole.text, .kind = TOKEN_NAME};
    enum ih_status status = IH_OK;
    if (!whole.text)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    list->n = 0;
    for (char *part = whole.text, *end; part && status == IH_OK; part = *end ? end + 1 : NULL) {
        end = part + strcspn(part, ",");
        p.at = part + strspn(part, " ");
        p.n = (size_t)(end - p.at);
        while (p.n > 0 && p.at[p.n - 1] == ' ')
            p.n--;
        status = add_field(&p, of_rows, list);
    }
    free(whole.text);
    return status;
}

void ih_condition_free(struct ih_condition *condition)
{
    if (condition)
        free(condition->text);
    free(condition);
}

unsigned ih_condition_uses(const struct ih_condition *condition)
{
    unsigned in = 0;
    for (unsigned i = 0; i < condition->n_nodes; i++)
        for (unsigned k = 0; k < 2; k++)
            in |= condition->nodes[i].operands[k].field.column.in;
    return in;
}

/* ---- evaluation ---- */

static enum truth condition_compare(const struct node *node, struct ih_record_view *view)
{
    struct ih_field_value values[2];
    for (unsigned i = 0; i < 2; i++) {
        const struct operand *o = &node->operands[i];
        values[i] =
            o->is_field
                ? ih_named_field_value(&o->field, view)
                : (struct ih_field_value){.type = o->type, .text = o->text, .real = o->number};
    }
    for (unsigned i = 0; i < 2; i++)
        if (node->operands[i].is_percentage)
            values[i].real = node->operands[i].number / 100 * values[!i].whole;
    const struct ih_field_value *const a = &values[0], *const b = &values[1];
    if (a->type == IH_TYPE_NONE || b->type == IH_TYPE_NONE)
        return UNKNOWN;
    if (node->comparison & (MATCH | NO_MATCH))
        return (fnmatch(b->text, a->text, 0) == 0) == (node->comparison == MATCH) ? YES : NO;
    const int difference = a->type == IH_TYPE_TEXT ? strcmp(a->text, b->text)
                                                   : (a->real > b->real) - (a->real < b->real);
    const enum comparison order = difference < 0 ? LESS : difference > 0 ? GREATER : EQUAL;
    return node->comparison & order ? YES : NO;
}

/* The nodes that a node uses precede it, so one pass computes each of them before it is needed. */
bool ih_condition_holds(const struct ih_condition *condition, struct ih_record_view *view)
{
    enum truth truths[NODES_MAX] = {NO};
    for (unsigned i = 0; i < condition->n_nodes; i++) {
        const struct node *node = &condition->nodes[i];
        if (node->kind == COMPARE) {
            truths[i] = condition_compare(node, view);
            continue;
        }
        const enum truth a = truths[node->left], b = truths[node->right];
        const enum truth decides = node->kind == AND ? NO : YES;
        if (node->kind == NOT)
            truths[i] = a == UNKNOWN ? UNKNOWN : a == YES ? NO : YES;
        else if (a == decides || b == decides)
            truths[i] = decides;
        else
            truths[i] = a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a;
    }
    return truths[condition->root] == YES;
}

/* Whether an earlier comparison of the condition names the field too. */
static bool is_named_before(const struct ih_condition *condition, const struct operand *o)
{
    for (unsigned i = 0; i < condition->n_nodes; i++)
        for (unsigned k = 0; k < 2 && condition->nodes[i].kind == COMPARE; k++) {
            const struct operand *other = &condition->nodes[i].operands[k];
            if (other == o)
                return false;
            if (other->is_field && strcmp(other->field.name, o->field.name) == 0)
                return true;
        }
    return false;
}

void ih_condition_describe(const struct ih_condition *condition, struct ih_record_view *view,
                           char *text, size_t size)
{
    size_t n = 0;
    *text = '\0';
    for (unsigned i = 0; i < 2 * condition->n_nodes; i++) {
        const struct operand *o = &condition->nodes[i / 2].operands[i % 2];
        char shown[96], *end = shown;
        if (condition->nodes[i / 2].kind != COMPARE || !o->is_field ||
            is_named_before(condition, o))
            continue;
        const struct ih_field_value v = ih_named_field_value(&o->field, view);
        if (v.type == IH_TYPE_NONE)
            snprintf(shown, sizeof shown, "unknown");
        else if (v.type == IH_TYPE_TEXT)
            snprintf(shown, sizeof shown, "'%.80s'", v.text);
        else
            end = ih_put_number(shown, &v);
        if (v.type == IH_TYPE_INTEGER && v.whole > 0)
            snprintf(end, (size_t)(shown + sizeof shown - end), " (%.4g%%)",
                     100 * v.real / v.whole);
        const int more =
            snprintf(text + n, size - n, "%s%s %s", n ? ", " : "", o->field.name, shown);
        if (more < 0 || (size_t)more >= size - n)
            return; /* cut */
        n += (size_t)more;
    }
}
