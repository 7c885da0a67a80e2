/* A recursive descent parser, and the evaluation of its nodes. */
#include "output/condition.h"

#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NODES_MAX = 256, DEPTH_MAX = 32 };

enum truth { NO, YES, UNKNOWN };

struct operand {
    bool is_field, is_percentage;
    unsigned field;
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
    GREATER_OR_EQUAL = EQUAL | GREATER
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
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
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
        for (p->n = 1; is_name_byte(p->at[p->n]);)
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
        const size_t n_blanks = strspn(p->at + p->n, " \t\n");
        p->n += p->at[p->n + n_blanks] == '%' ? n_blanks + 1 : 0;
        if (is_name_byte(p->at[p->n]))
            return condition_fail(p, "not a number in plain digits, as 5, 0.5 or 5%");
    } else if (strchr("<>=!()", c)) {
        p->kind = TOKEN_OPERATOR;
        p->n = c != '(' && c != ')' && p->at[1] == '=' ? 2 : 1;
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

static enum ih_status parse_field(struct parser *p, struct operand *out)
{
    const struct ih_record_field *const fields = p->fields->fields;
    const char *nearest = NULL;
    unsigned fewest = UINT_MAX;
    char what[IH_MESSAGE_MAX];
    for (unsigned i = 0; i < p->fields->n; i++) {
        if (!fields[i].column || (fields[i].in & p->fields->lacks))
            continue;
        if (is_token(p, fields[i].column)) {
            if (p->fields->lacks_luma && ih_field_is_of_luma(&fields[i]))
                return condition_fail(p, "a field of luma, which --luma=none does not count");
            *out = (struct operand){
                .is_field = true, .field = i, .type = ih_field_value_type(&fields[i])};
            return advance(p);
        }
        if (ih_word_is_nearer(p->at, p->n, fields[i].column, &fewest))
            nearest = fields[i].column;
    }
    if (is_joint(p))
        return condition_fail(p,
                              "a field or number is missing; write and, or, not in small letters");
    for (const struct ih_field *f = ih_distance_fields; f->key; f++)
        if (is_token(p, f->key)) {
            snprintf(what, sizeof what,
                     "'%s' is a distance: --against=REF gives it, or --diff for --fail-if", f->key);
            return condition_fail(p, what);
        }
    snprintf(what, sizeof what, "no field '%.*s'; %s%s%s%s", p->n > 40 ? 40 : (int)p->n, p->at,
             nearest ? "did you mean " : "", nearest ? nearest : "", nearest ? "? " : "",
             p->fields->which);
    return condition_fail(p, what);
}

static enum ih_status parse_operand(struct parser *p, struct operand *out)
{
    switch (p->kind) {
    case TOKEN_NAME:
        return parse_field(p, out);
    case TOKEN_NUMBER:
        out->type = IH_TYPE_REAL;
        out->is_percentage = p->at[p->n - 1] == '%';
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
    } operators[] = {{"==", EQUAL},         {"!=", NOT_EQUAL}, {"<", LESS},
                     {"<=", LESS_OR_EQUAL}, {">", GREATER},    {">=", GREATER_OR_EQUAL}};
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
    const struct ih_record_field *const field = &p->fields->fields[operand->field];
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
    int n = snprintf(what, sizeof what, "%s is never '%.20s', but one of", field->column, text);
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

/* The largest number that a field has; 0: there is none. Of native bins, values have 16 bits. */
static double high_of(const struct ih_field_set *set, const struct ih_record_field *f)
{
    const bool is_of_values = f->field.kind == IH_FIELD_LUMA_VALUE ||
                              f->field.kind == IH_FIELD_LUMA_REAL ||
                              (f->field.kind == IH_FIELD_REAL && f->high > 1); /* emd */
    return !set->is_native || !is_of_values ? f->high : f->high == 8 ? 16 : f->high * 257;
}

/* Refuses a number that looks like a share of a count, and a comparison that decides nothing. */
static enum ih_status check_number(const struct parser *p, enum comparison comparison,
                                   const struct operand *operand, const struct operand *number)
{
    const struct ih_record_field *const field = &p->fields->fields[operand->field];
    static const struct ih_field_set native = {.is_native = true};
    const double n = number->number, most = high_of(p->fields, field);
    const double high = most > 0 ? most : HUGE_VAL;
    const bool is_integer = operand->type == IH_TYPE_INTEGER, has_share = field->in & IH_SHARE;
    char what[IH_MESSAGE_MAX];
    if (number->is_percentage && !has_share)
        return condition_fail(p, "the field has no percentage");
    if (number->is_percentage)
        return decides_nothing(comparison, n, 0, 100)
                   ? condition_fail(
                         p, "a percentage goes from 0 to 100: the comparison decides nothing")
                   : IH_OK;
    if (is_integer && has_share && n > 0 && n < 1)
        snprintf(what, sizeof what, "%s counts pixels; write %g%% for a share of them",
                 field->column, 100 * n);
    else if (has_share && !is_integer && n > 1)
        snprintf(what, sizeof what, "%s goes from 0 to 1; write a percentage, as in 5%%",
                 field->column);
    else if (decides_nothing(comparison, n, 0, high) && most > 0)
        snprintf(what, sizeof what, "%s goes from 0 to %.10g: the comparison decides nothing%s",
                 field->column, high,
                 decides_nothing(comparison, n, 0, high_of(&native, field))
                     ? ""
                     : " (without --bins=native)");
    else if (decides_nothing(comparison, n, 0, high))
        snprintf(what, sizeof what, "%s is never below 0: the comparison decides nothing",
                 field->column);
    else if (is_integer && (comparison == EQUAL || comparison == NOT_EQUAL) && n != floor(n))
        snprintf(what, sizeof what, "%s is a whole number: the comparison decides nothing",
                 field->column);
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
    if (is_text != (o[1].type == IH_TYPE_TEXT))
        return condition_fail(p, "a number is compared with a text");
    if (!o[0].is_field && !o[1].is_field)
        return condition_fail(p, "the comparison has no field");
    if (o[0].is_field && o[1].is_field)
        return is_text ? condition_fail(p, "two fields of text are compared; quote a text")
               : o[0].field == o[1].field ? condition_fail(p, "a field is compared with itself")
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

void ih_condition_free(struct ih_condition *condition)
{
    if (condition)
        free(condition->text);
    free(condition);
}

/* ---- evaluation ---- */

static struct ih_field_value operand_value(const struct operand *o, const struct operand *other,
                                           const struct ih_field_value *values)
{
    if (o->is_field)
        return values[o->field];
    struct ih_field_value value = {.type = o->type, .text = o->text, .real = o->number};
    if (o->is_percentage)
        value.real = o->number / 100 * values[other->field].whole;
    return value;
}

static enum truth condition_compare(const struct node *node, const struct ih_field_value *values)
{
    const struct operand *o = node->operands;
    const struct ih_field_value a = operand_value(&o[0], &o[1], values),
                                b = operand_value(&o[1], &o[0], values);
    if (a.type == IH_TYPE_NONE || b.type == IH_TYPE_NONE)
        return UNKNOWN;
    const int difference =
        a.type == IH_TYPE_TEXT ? strcmp(a.text, b.text) : (a.real > b.real) - (a.real < b.real);
    const enum comparison order = difference < 0 ? LESS : difference > 0 ? GREATER : EQUAL;
    return node->comparison & order ? YES : NO;
}

/* The nodes that a node uses precede it, so one pass computes each of them before it is needed. */
bool ih_condition_holds(const struct ih_condition *condition, const struct ih_field_value *values)
{
    enum truth truths[NODES_MAX] = {NO};
    for (unsigned i = 0; i < condition->n_nodes; i++) {
        const struct node *node = &condition->nodes[i];
        if (node->kind == COMPARE) {
            truths[i] = condition_compare(node, values);
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
