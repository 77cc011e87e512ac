#include "exp_data.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_DIGITS 4

/* ---- reading ---- */

struct reader {
    const char *name; /* of the file */
    const char *figure;
    struct cellar_error *error;
};

static int refuse(const struct reader *reader, const char *what)
{
    return err_set(reader->error, CELLAR_CORRUPT, "lab/exp/data/%.30s.json%s%.100s: %.100s", reader->name,
                   reader->figure ? ", figure " : "", reader->figure ? reader->figure : "", what);
}

static int take_text(const struct reader *reader, const json_t *object, const char *key, bool needed, const char **text)
{
    const json_t *value = json_object_get(object, key);
    char what[80];
    *text = json_string_value(value);
    if (*text || (!value && !needed)) return 0;
    snprintf(what, sizeof what, "\"%s\" must be a text", key);
    return refuse(reader, what);
}

static int take_number(const struct reader *reader, const json_t *object, const char *key, bool *there, double *number)
{
    const json_t *value = json_object_get(object, key);
    char what[80];
    *there = value != NULL;
    *number = json_number_value(value);
    if (!value || json_is_number(value)) return 0;
    snprintf(what, sizeof what, "\"%s\" must be a number", key);
    return refuse(reader, what);
}

/* [low, high] */
static int take_pair(const struct reader *reader, const json_t *object, const char *key, bool *there, double *low,
                     double *high)
{
    const json_t *value = json_object_get(object, key);
    char what[80];
    *there = value != NULL;
    if (!value) return 0;
    *low = json_number_value(json_array_get(value, 0));
    *high = json_number_value(json_array_get(value, 1));
    if (json_array_size(value) == 2 && *low <= *high) return 0;
    snprintf(what, sizeof what, "\"%s\" must be [low, high]", key);
    return refuse(reader, what);
}

/* A published number with its band, or a target. */
static int take_wanted(const struct reader *reader, const json_t *object, struct exp_data_figure *figure)
{
    bool published, banded, least, most;
    double at_least, at_most;
    int code = take_number(reader, object, "published", &published, &figure->published);
    if (code == 0) code = take_number(reader, object, "at_least", &least, &at_least);
    if (code == 0) code = take_number(reader, object, "at_most", &most, &at_most);
    if (code == 0) code = take_pair(reader, object, "band", &banded, &figure->low, &figure->high);
    if (code) return code;
    if (published + least + most != 1) return refuse(reader, "needs one of \"published\", \"at_least\", \"at_most\"");
    if (published != banded) return refuse(reader, "\"published\" and \"band\" go together");
    if (published) return figure->published != 0 ? 0 : refuse(reader, "\"published\" must not be 0");
    figure->target = true;
    figure->published = least ? at_least : at_most;
    figure->low = least ? 1 : 0;
    figure->high = least ? 1e9 : 1;
    figure->source = least ? "target" : "target: at most";
    return figure->published > 0 ? 0 : refuse(reader, "a target must be above 0");
}

static int take_record(const struct reader *reader, const json_t *object, struct exp_data_figure *figure)
{
    const json_t *was = json_object_get(object, "was");
    bool slack;
    if (!was) return 0;
    int code = take_number(reader, was, "full", &figure->was[0], &figure->recorded[0]);
    if (code == 0) code = take_number(reader, was, "quick", &figure->was[1], &figure->recorded[1]);
    if (code == 0) code = take_number(reader, was, "slack", &slack, &figure->slack);
    return code || slack ? code : refuse(reader, "\"was\" needs \"slack\"");
}

static int take_reason(const struct reader *reader, const json_t *object, const json_t *reasons,
                       struct exp_data_figure *figure)
{
    const char *key;
    int code = take_text(reader, object, "reason", false, &key);
    if (code || !key) return code;
    figure->reason = json_string_value(json_object_get(reasons, key));
    return figure->reason ? 0 : refuse(reader, "\"reason\" names none of \"reasons\"");
}

static int check_keys(const struct reader *reader, const json_t *object)
{
    static const char *const known[] = {"study",   "figure", "unit",  "source", "published", "band", "at_least",
                                        "at_most", "is",     "sweep", "metric", "of",        "over", "x",
                                        "reason",  "was",    "known", "fitted", "full_only"};
    const char *key;
    const json_t *value;
    char what[80];
    json_object_foreach((json_t *)object, key, value)
    {
        uint32_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(key, known[i]) != 0) i++;
        if (i < sizeof known / sizeof *known) continue;
        snprintf(what, sizeof what, "unknown field \"%.40s\"", key);
        return refuse(reader, what);
    }
    return 0;
}

static int take_figure(struct reader *reader, const json_t *object, const json_t *reasons,
                       struct exp_data_figure *figure)
{
    bool there;
    reader->figure = NULL;
    int code = take_text(reader, object, "figure", true, &figure->figure);
    if (code) return code;
    reader->figure = figure->figure;
    code = check_keys(reader, object);
    if (code == 0) code = take_text(reader, object, "study", true, &figure->study);
    if (code == 0) code = take_text(reader, object, "unit", true, &figure->unit);
    if (code == 0) code = take_text(reader, object, "source", false, &figure->source);
    if (code == 0) code = take_text(reader, object, "is", false, &figure->is);
    if (code == 0) code = take_text(reader, object, "sweep", false, &figure->sweep);
    if (code == 0) code = take_text(reader, object, "metric", false, &figure->metric);
    if (code == 0) code = take_text(reader, object, "of", false, &figure->of);
    if (code == 0) code = take_text(reader, object, "over", false, &figure->over);
    if (code == 0) code = take_number(reader, object, "x", &there, &figure->x);
    if (code == 0) code = take_wanted(reader, object, figure);
    if (code == 0) code = take_reason(reader, object, reasons, figure);
    if (code == 0) code = take_pair(reader, object, "known", &figure->known, &figure->known_low, &figure->known_high);
    if (code == 0) code = take_record(reader, object, figure);
    if (code) return code;
    figure->fitted = json_is_true(json_object_get(object, "fitted"));
    figure->full_only = json_is_true(json_object_get(object, "full_only"));
    return figure->source ? 0 : refuse(reader, "\"source\" is missing");
}

static int take_figures(struct reader *reader, struct exp_data *data)
{
    const json_t *figures = json_object_get(data->root, "figures");
    size_t count = json_array_size(figures);
    if (count == 0) return refuse(reader, "\"figures\" must be a list");
    data->figures = calloc(count, sizeof *data->figures);
    if (!data->figures) return err_set(reader->error, CELLAR_NOMEM, "no memory for the published figures");
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        struct exp_data_figure *figure = &data->figures[i];
        code = take_figure(reader, json_array_get(figures, i), json_object_get(data->root, "reasons"), figure);
        if (code == 0 && exp_data_find(data, figure->study, figure->figure))
            code = refuse(reader, "stands there twice");
        data->figure_count += code == 0;
    }
    reader->figure = NULL;
    return code;
}

static int take_chart(const struct reader *reader, const char *name, const json_t *object, struct exp_data_chart *chart)
{
    const json_t *points = json_object_get(object, "points");
    char what[80];
    chart->name = name;
    chart->count = (uint32_t)json_array_size(points);
    bool well = json_is_array(points) && chart->count <= EXP_DATA_POINTS;
    for (uint32_t i = 0; well && i < chart->count; i++) {
        const json_t *point = json_array_get(points, i), *x = json_array_get(point, 0), *y = json_array_get(point, 1);
        well = json_array_size(point) == 2 && json_is_number(x) && json_is_number(y);
        chart->x[i] = json_number_value(x);
        chart->y[i] = json_number_value(y);
    }
    snprintf(what, sizeof what, "chart \"%.40s\": \"points\" must be a list of at most %d [x, y]", name,
             EXP_DATA_POINTS);
    return well ? take_text(reader, object, "source", true, &chart->source) : refuse(reader, what);
}

static int take_charts(struct reader *reader, struct exp_data *data)
{
    json_t *charts = json_object_get(data->root, "charts"), *value;
    size_t count = json_object_size(charts);
    const char *name;
    if (count == 0) return 0;
    data->charts = calloc(count, sizeof *data->charts);
    if (!data->charts) return err_set(reader->error, CELLAR_NOMEM, "no memory for the published charts");
    json_object_foreach(charts, name, value)
    {
        int code = take_chart(reader, name, value, &data->charts[data->chart_count++]);
        if (code) return code;
    }
    return 0;
}

int exp_data_parse(const char *text, size_t bytes, const char *name, struct exp_data *data, struct cellar_error *error)
{
    struct reader reader = {.name = name, .error = error};
    json_error_t where;
    *data = (struct exp_data){.root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where)};
    if (!data->root)
        return err_set(error, CELLAR_CORRUPT, "lab/exp/data/%.30s.json, line %d: %.100s", name, where.line, where.text);
    int code = take_figures(&reader, data);
    if (code == 0) code = take_charts(&reader, data);
    if (code) exp_data_close(data);
    return code;
}

int exp_data_open(const char *name, struct exp_data *data, struct cellar_error *error)
{
    for (const struct exp_data_text *text = exp_data_texts; text->name; text++)
        if (!strcmp(text->name, name)) return exp_data_parse((const char *)text->bytes, text->count, name, data, error);
    *data = (struct exp_data){.root = NULL};
    return err_set(error, CELLAR_CORRUPT, "lab/exp/data/%.30s.json is not built in", name);
}

void exp_data_close(struct exp_data *data)
{
    json_decref(data->root);
    free(data->figures);
    free(data->charts);
    *data = (struct exp_data){.root = NULL};
}

const struct exp_data_figure *exp_data_find(const struct exp_data *data, const char *study, const char *figure)
{
    for (uint32_t i = 0; i < data->figure_count; i++)
        if (!strcmp(data->figures[i].study, study) && !strcmp(data->figures[i].figure, figure))
            return &data->figures[i];
    return NULL;
}

const struct exp_data_chart *exp_data_chart(const struct exp_data *data, const char *name)
{
    for (uint32_t i = 0; i < data->chart_count; i++)
        if (!strcmp(data->charts[i].name, name)) return &data->charts[i];
    return NULL;
}

/* ---- recording ---- */

static json_t *rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.*g", RECORD_DIGITS, value);
    return json_real(strtod(text, NULL));
}

static bool set_value(json_t *figures, bool quick, const struct exp_data_value *value)
{
    for (size_t i = 0; i < json_array_size(figures); i++) {
        json_t *figure = json_array_get(figures, i), *was = json_object_get(figure, "was");
        const char *study = json_string_value(json_object_get(figure, "study"));
        const char *name = json_string_value(json_object_get(figure, "figure"));
        if (!study || !name || strcmp(study, value->study) != 0 || strcmp(name, value->figure) != 0) continue;
        if (!was) {
            was = json_pack("{s:f}", "slack", 0.1);
            json_object_set_new(figure, "was", was);
        }
        json_object_set_new(was, quick ? "quick" : "full", rounded(value->value));
        return true;
    }
    return false;
}

static void write_value(FILE *out, const char *before, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    fprintf(out, "%s%s", before, text ? text : "null");
    free(text);
}

/* One line for each reason, chart and figure, so that a change of one is a change of one line. */
static void write_data(FILE *out, const json_t *root)
{
    static const char *const objects[] = {"reasons", "charts"};
    const char *key;
    json_t *value;
    size_t i;
    write_value(out, "{\n\"about\": ", json_object_get(root, "about"));
    for (uint32_t o = 0; o < 2; o++) {
        const char *before = "\n";
        if (!json_object_get(root, objects[o])) continue;
        fprintf(out, ",\n\"%s\": {", objects[o]);
        json_object_foreach(json_object_get(root, objects[o]), key, value)
        {
            fprintf(out, "%s  \"%s\"", before, key);
            write_value(out, ": ", value);
            before = ",\n";
        }
        fputs("\n}", out);
    }
    fputs(",\n\"figures\": [", out);
    json_array_foreach(json_object_get(root, "figures"), i, value) write_value(out, i ? ",\n  " : "\n  ", value);
    fputs("\n]\n}\n", out);
}

int exp_data_record(const char *path, bool quick, const struct exp_data_value *values, uint32_t count,
                    struct cellar_error *error)
{
    json_error_t where;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!root) return err_set(error, CELLAR_INVALID, "%.150s, line %d: %.80s", path, where.line, where.text);
    int code = 0;
    for (uint32_t i = 0; i < count && code == 0; i++)
        if (!set_value(json_object_get(root, "figures"), quick, &values[i]))
            code = err_set(error, CELLAR_INVALID, "%.150s has no figure %.80s", path, values[i].figure);
    FILE *out = code == 0 ? fopen(path, "w") : NULL;
    if (code == 0 && !out) code = err_set(error, CELLAR_SYSTEM, "%.150s cannot be written", path);
    if (out) write_data(out, root);
    if (out && (ferror(out) | fclose(out)) && code == 0)
        code = err_set(error, CELLAR_SYSTEM, "%.150s cannot be written", path);
    json_decref(root);
    return code;
}
