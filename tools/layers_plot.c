// The report of cameo verify --layers as a picture on a logarithmic scale: the relative error along
// the graph, rms and, thin, the greatest one, which is what the threshold is of; what each node
// made as bars, and the nodes that made most.

#include "tools/layers.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 1200, HEIGHT = 520, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 60, GUILTY = 5 };
enum { LINE = 16, NUMBER = 14, LONGEST = 130 }; // of the list below the picture; of a mark's number

typedef struct Plot {
    const Layers *s;
    Buf *out;
    double low, high;   // exponents of ten at bottom and top
    uint32_t n, *index; // of the values drawn
    uint32_t worst[GUILTY], nworst;
} Plot;

static bool is_drawn(const Layer *l)
{
    return dtype_is_float(l->value.dtype) && !l->missing && l->numbers[DRIFT_COUNT] > 0;
}

static double x_of(const Plot *p, uint32_t i)
{
    double step = (double)(WIDTH - LEFT - RIGHT) / (p->n > 1 ? p->n - 1 : 1);
    return LEFT + step * i;
}

static double y_of(const Plot *p, double v)
{
    double e = v > 0 ? log10(v) : p->low;
    e = e < p->low ? p->low : e > p->high ? p->high : e;
    return HEIGHT - BOTTOM - (e - p->low) / (p->high - p->low) * (HEIGHT - BOTTOM - TOP);
}

static void put_text(Buf *out, Str s)
{
    Buf text = {0};
    buf_escaped(&text, s);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '<' || c == '>' || c == '&')
            buf_printf(out, "&#%d;", c);
        else
            buf_char(out, c);
    }
    buf_free(&text);
}

static void choose(Plot *p)
{
    double least = INFINITY, most = 0;
    for (uint32_t i = 0; i < p->s->all.len; i++) {
        const Layer *l = &p->s->all.at[i];
        double v = layer_relative(l), made = layer_share(l), spread = layer_spread(l);
        if (!is_drawn(l))
            continue;
        p->index[p->n++] = i;
        most = isfinite(v) && v > most ? v : most;
        most = isfinite(made) && made > most ? made : most;
        most = isfinite(spread) && spread > most ? spread : most;
        least = v > 0 && v < least ? v : least;
        least = spread > 0 && spread < least ? spread : least;
    }
    p->high = most > 0 ? ceil(log10(most) + 1e-9) : 0;
    p->low = least <= most ? floor(log10(least)) : -8;
    p->low = p->low < p->high - 12 ? p->high - 12 : p->low >= p->high ? p->high - 1 : p->low;
    for (; p->nworst < GUILTY; p->nworst++) {
        uint32_t best = UINT32_MAX;
        double share = 0;
        for (uint32_t k = 0; k < p->n; k++) {
            bool taken = false;
            for (uint32_t w = 0; w < p->nworst; w++)
                taken = taken || p->worst[w] == k;
            double v = layer_share(&p->s->all.at[p->index[k]]);
            if (!taken && v > share) {
                share = v;
                best = k;
            }
        }
        if (best == UINT32_MAX)
            return;
        p->worst[p->nworst] = best;
    }
}

static void draw_scale(Plot *p)
{
    for (double e = p->low; e <= p->high; e++) {
        double y = y_of(p, pow(10, e));
        buf_printf(p->out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                   LEFT, y, WIDTH - RIGHT, y);
        buf_printf(p->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">1e%.0f</text>\n",
                   LEFT - 6, y + 4, e);
    }
    double y = y_of(p, p->s->threshold);
    if (log10(p->s->threshold) >= p->low && log10(p->s->threshold) <= p->high)
        buf_printf(p->out,
                   "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#c33\" "
                   "stroke-dasharray=\"6 4\"/>\n",
                   LEFT, y, WIDTH - RIGHT, y);
}

static void draw_line(Plot *p, double (*figure)(const Layer *), const char *look)
{
    buf_printf(p->out, "<polyline fill=\"none\" %s points=\"", look);
    for (uint32_t k = 0; k < p->n; k++)
        buf_printf(p->out, "%.1f,%.1f ", x_of(p, k), y_of(p, figure(&p->s->all.at[p->index[k]])));
    buf_printf(p->out, "\"/>\n");
}

static void draw_values(Plot *p)
{
    for (uint32_t k = 0; k < p->n; k++) { // what is made here
        const Layer *l = &p->s->all.at[p->index[k]];
        double v = layer_share(l);
        if (v > 0)
            buf_printf(p->out,
                       "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#9bd\" "
                       "stroke-width=\"2\"/>\n",
                       x_of(p, k), HEIGHT - BOTTOM, x_of(p, k), y_of(p, v));
    }
    draw_line(p, layer_spread, "stroke=\"#a8a\"");
    draw_line(p, layer_relative, "stroke=\"#247\" stroke-width=\"1.5\"");
    for (uint32_t k = 0; k < p->n; k++) {
        const Layer *l = &p->s->all.at[p->index[k]];
        if (layer_is_over(p->s, l))
            buf_printf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"#c33\"/>\n",
                       x_of(p, k), y_of(p, layer_spread(l)));
        buf_printf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"#247\"><title>",
                   x_of(p, k), y_of(p, layer_relative(l)));
        put_text(p->out, l->value.name);
        buf_printf(p->out, " (");
        put_text(p->out, l->value.op);
        buf_printf(p->out, "): relative %.3g, made %.3g, greatest %.3g</title></circle>\n",
                   layer_relative(l), layer_share(l), l->numbers[DRIFT_MAX_TOTAL]);
    }
}

// Where the number of mark w stands: above the mark, and above the numbers that it would lie on.
static double number_of(const Plot *p, uint32_t w)
{
    double at[GUILTY];
    for (uint32_t i = 0; i <= w; i++) {
        at[i] = y_of(p, layer_share(&p->s->all.at[p->index[p->worst[i]]])) - 9;
        for (uint32_t k = 0; k < i; k++)
            if (fabs(x_of(p, p->worst[i]) - x_of(p, p->worst[k])) < NUMBER &&
                fabs(at[i] - at[k]) < NUMBER) {
                at[i] = at[k] - NUMBER;
                k = UINT32_MAX; // from the first on: it may lie on another one now
            }
    }
    return at[w];
}

// The nodes that made most: a mark with a number each, and below the picture what they are, where
// there is room for names.
static void draw_guilty(Plot *p)
{
    for (uint32_t w = 0; w < p->nworst; w++) {
        uint32_t k = p->worst[w];
        const Layer *l = &p->s->all.at[p->index[k]];
        double x = x_of(p, k);
        buf_printf(p->out,
                   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"none\" stroke=\"#d60\" "
                   "stroke-width=\"2\"/>\n<text x=\"%.1f\" y=\"%.1f\" fill=\"#d60\" "
                   "text-anchor=\"middle\">%u</text>\n",
                   x, y_of(p, layer_share(l)), x, number_of(p, w), w + 1);
        buf_printf(p->out, "<text x=\"%d\" y=\"%u\" fill=\"#d60\">%u. ", LEFT, HEIGHT + w * LINE,
                   w + 1);
        put_text(p->out, l->value.op);
        size_t skip = l->value.name.len > LONGEST ? l->value.name.len - LONGEST : 0;
        buf_printf(p->out, skip ? " .." : " ");
        put_text(p->out, (Str){l->value.name.at + skip, l->value.name.len - skip});
        buf_printf(p->out, ": %.2e of its rms is made here</text>\n", layer_share(l));
    }
}

void layers_plot(const Layers *s, Buf *out)
{
    Plot p = {.s = s, .out = out};
    p.index = calloc((size_t)s->all.len + 1, sizeof *p.index);
    if (!p.index)
        return;
    choose(&p);
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" "
               "height=\"100%%\" fill=\"white\"/>\n",
               WIDTH, HEIGHT + (int)p.nworst * LINE);
    buf_printf(out, "<text x=\"%d\" y=\"18\" font-size=\"13\">", LEFT);
    put_text(out, str_of(s->model));
    buf_printf(out, " beside ");
    put_text(out, str_of(s->against));
    buf_printf(out, ": relative error along the graph (rms: thick line, greatest: thin), made at "
                    "each node (bars)</text>\n");
    draw_scale(&p);
    draw_values(&p);
    draw_guilty(&p);
    buf_printf(out,
               "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%u values in order of "
               "execution; dashed: %g of the greatest number, red: an element is off by more"
               "</text>\n</svg>\n",
               (WIDTH + LEFT) / 2, HEIGHT - BOTTOM + 24, p.n, s->threshold);
    free(p.index);
}
