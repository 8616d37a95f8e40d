/* Memory for nodes: slabs of 2 MB, from the system in huge pages where it has them. With pages of 4 kB half of the time of a
   large graph went into page faults and missed translations (benchmarks/eager.py: time per node from 10^3 to 3*10^6 nodes). */

#include "engine.h"
#include "platform.h"

size_t gc_head;
Slab *slab_now;

#ifdef MICROGRAD_SANITIZE /* every node is an allocation of its own, so that the sanitizer sees a use after free */

typedef struct Link {
    struct Link *prev, *next;
} Link;

static Link all = {&all, &all};

Node *node_memory_slow(void) {
    Link *link = PyObject_Malloc(sizeof(Link) + gc_head + sizeof(Node));
    if (link == NULL) return (Node *)PyErr_NoMemory();
    *link = (Link){&all, all.next};
    link->next->prev = all.next = link;
    char *memory = (char *)(link + 1);
    memset(memory, 0, gc_head);
    ((Node *)(memory + gc_head))->dict = NULL;
    return (Node *)(memory + gc_head);
}

void node_memory_back(Node *n) {
    Link *link = (Link *)((char *)n - gc_head) - 1;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    PyObject_Free(link);
}

void release_slabs(void) {}

int for_each_node(int (*visit)(Node *, void *), void *argument) {
    for (Link *link = all.next; link != &all; link = link->next) {
        Node *n = (Node *)((char *)(link + 1) + gc_head);
        if (Py_REFCNT(n) > 0 && visit(n, argument)) return -1;
    }
    return 0;
}

#else

/* How many empty slabs are kept for the next graph: as many as two graphs in a row have needed. A graph that is
   built once gives its memory back; a training loop gets it from the system in the first two steps only (in 4 kB pages, that is
   a third of the time of a step). A graph ends where less than half of its slabs are in use. A full collection, such as that
   of gc.collect(), gives all of them back. */

static Slab *all_slabs;
static size_t in_use, empty_slabs, kept = 1;
static size_t peak, last_peak; /* the most in use, for this graph and for the one before */
static int shrinking;          /* the last graph has ended, and the next one has not begun */

static Slab *slab_of(Node *n) { return (Slab *)((uintptr_t)n & ~(uintptr_t)(SLAB_BYTES - 1)); }

static void ring_add(Slab *s) {
    s->in_ring = 1;
    if (slab_now == NULL) {
        s->prev = s->next = s;
        slab_now = s;
        return;
    }
    s->next = slab_now->next;
    s->prev = slab_now;
    s->next->prev = s;
    slab_now->next = s;
}

static void ring_remove(Slab *s) {
    s->in_ring = 0;
    if (s->next == s) {
        slab_now = NULL;
    } else {
        s->prev->next = s->next;
        s->next->prev = s->prev;
        if (slab_now == s) slab_now = s->next;
    }
}

static Slab *slab_new(void) {
    static int had_one;
    Slab *s = slab_memory(SLAB_BYTES);
    if (s == NULL) return NULL;
    if (had_one) advise_huge(s, SLAB_BYTES); /* not the first: most programs never fill it */
    had_one = 1;
    s->freed = NULL;
    s->live = 0;
    s->fresh = (char *)s + ((sizeof(Slab) + 63) & ~(size_t)63) + gc_head;
    s->end = s->fresh + ((char *)s + SLAB_BYTES - s->fresh) / (ptrdiff_t)node_stride() * (ptrdiff_t)node_stride();
    s->all_prev = NULL;
    s->all_next = all_slabs;
    if (all_slabs != NULL) all_slabs->all_prev = s;
    all_slabs = s;
    empty_slabs++;
    ring_add(s);
    return s;
}

static void slab_free(Slab *s) {
    ring_remove(s);
    if (s->all_prev != NULL) s->all_prev->all_next = s->all_next;
    else all_slabs = s->all_next;
    if (s->all_next != NULL) s->all_next->all_prev = s->all_prev;
    slab_release(s, SLAB_BYTES);
    empty_slabs--;
}

static void slab_is_used(void) {
    empty_slabs--;
    in_use++;
    if (shrinking || in_use > peak) peak = in_use;
    shrinking = 0;
}

Node *node_memory_slow(void) { /* the slab at hand is full, or there is none */
    while (slab_now != NULL && slab_now->freed == NULL && slab_now->fresh == slab_now->end) ring_remove(slab_now);
    if (slab_now == NULL && slab_new() == NULL) return (Node *)PyErr_NoMemory();
    Slab *s = slab_now;
    if (s->live++ == 0) slab_is_used();
    Node *n = s->freed;
    if (n == NULL) return node_fresh(s);
    s->freed = n->next;
    return n;
}

static void slab_is_empty(void) {
    in_use--;
    empty_slabs++;
    if (!shrinking && 2 * in_use < peak) {
        shrinking = 1;
        kept = last_peak < peak ? last_peak : peak;
        last_peak = peak;
    }
    if (empty_slabs <= kept) return;
    for (Slab *s = all_slabs, *next; s != NULL && empty_slabs > kept; s = next) {
        next = s->all_next;
        if (s->live == 0) slab_free(s);
    }
}

void release_slabs(void) {
    for (Slab *s = all_slabs, *next; s != NULL; s = next) {
        next = s->all_next;
        if (s->live == 0) slab_free(s);
    }
    kept = 1;
}

void node_memory_back(Node *n) {
    Slab *s = slab_of(n);
    n->flags = 0; /* for for_each_node */
    n->next = s->freed;
    s->freed = n;
    if (!s->in_ring) ring_add(s);
    if (--s->live == 0) slab_is_empty();
}

int for_each_node(int (*visit)(Node *, void *), void *argument) {
    for (Slab *s = all_slabs; s != NULL; s = s->all_next) {
        char *first = (char *)s + ((sizeof(Slab) + 63) & ~(size_t)63) + gc_head;
        for (char *at = first; at < s->fresh; at += node_stride()) {
            Node *n = (Node *)at;
            if ((n->flags & OURS) && Py_REFCNT(n) > 0 && visit(n, argument)) return -1;
        }
    }
    return 0;
}

#endif

/* ---- lists of pointers, and memory that is kept for the next one */

#define SPARE_ITEMS ((Py_ssize_t)1 << 22) /* 32 MB: the order of a graph of four million nodes */

List list_take(List *spare) {
    List l = *spare;
    spare->item = NULL;
    spare->room = 0;
    l.n = l.used = 0;
    return l;
}

void list_return(List *l, List *spare) {
    if (spare->item == NULL && l->room <= SPARE_ITEMS && l->room <= 4096 + 64 * l->used) { /* not what a small graph has no use for */
        *spare = *l;
    } else {
        PyMem_RawFree(l->item);
    }
    l->item = NULL;
    l->n = l->room = 0;
}
