/* The binary contract between mobile code and the node it runs on. Plain C, frozen per version:
 * a node offers godwit_here_v1 with `size` set, and verbs are only ever added at its end.
 *
 * Everything mobile code knows of its node comes through this table; nothing else links the two.
 * C++ authors use mobile.hpp, which wraps it; other front ends may target it directly. */
#ifndef GODWIT_MOBILE_ABI_H
#define GODWIT_MOBILE_ABI_H

#include <stddef.h>
#include <stdint.h>

/* No exception crosses this contract. Saying so spares mobile code its handlers. */
#ifdef __cplusplus
#define GODWIT_NOEXCEPT noexcept
extern "C" {
#else
#define GODWIT_NOEXCEPT
#endif

typedef struct godwit_bytes {
  const void* data;
  size_t size;
} godwit_bytes;

/* Where an entry writes its result: a blob laid out as docs/types.md says. The node offers
 * `capacity` bytes at `data`, 16-byte aligned; a longer result asks for room first. */
typedef struct godwit_reply {
  void* data;
  size_t capacity;
  size_t size; /* set by the entry */
  /* Room for `size` bytes; contents written so far are lost. Null if the node refuses (too large,
   * out of memory): then return GODWIT_APP_ERROR. */
  void* (*reserve)(struct godwit_reply* reply, size_t size)GODWIT_NOEXCEPT;
} godwit_reply;

enum { GODWIT_REPLY_CAPACITY = 512 }; /* the least capacity a node offers */

/* What an entry returns. */
enum {
  GODWIT_OK = 0,        /* the reply holds the result */
  GODWIT_APP_ERROR = 1, /* the reply holds a message, UTF-8 */
  GODWIT_CONTINUE = 2,  /* continue_at() said where this call goes on; the reply is ignored */
  GODWIT_BAD_ARGS = 3,  /* the argument blob does not decode; the reply may hold a message */
  /* A verb said GODWIT_NOT_YET: run the entry again, from its beginning and with the same
   * arguments, once that has happened. For functions exported as inline. */
  GODWIT_AGAIN = 4,
  GODWIT_ANSWERED = 5, /* a verb has written the result; the reply is as it left it */
  /* Added to a godwit::ErrorCode: like GODWIT_APP_ERROR, and the caller learns that reason too. */
  GODWIT_FAILED_WITH = 0x10000
};

/* How a call ended; the values are those of godwit::Ending. */
enum {
  GODWIT_ENDED_OK = 0,
  GODWIT_ENDED_APP_ERROR = 1,
  GODWIT_ENDED_CANCELLED = 2,
  GODWIT_ENDED_DEADLINE = 3,
  GODWIT_ENDED_EVICTED = 4,
  GODWIT_ENDED_CRASHED = 5,
  GODWIT_ENDED_NODE_LOST = 6,
  GODWIT_ENDED_REJECTED = 7
};

/* A function to call: of the bundle with this id, or of the caller's own when `bundle` is null. An
 * id of zeros is that of the operations on regions that come with every node (docs/ops.md). */
typedef struct godwit_function_ref {
  const uint8_t* bundle; /* 32 bytes, or null */
  const char* name;
  size_t name_size;
} godwit_function_ref;

/* The end of a call made through call(). `data` is the result blob, or the error's message; it is
 * valid until release(). */
typedef struct godwit_outcome {
  int32_t ending;
  uint32_t reason; /* a godwit::ErrorCode, when not ok */
  uint32_t may_have_started;
  const void* data;
  size_t size;
} godwit_outcome;

/* New code for build(): LLVM IR as text, or bitcode, that defines `function` with C linkage.
 * Parameters follow the signature: scalars by value, str/bytes/span as (const void*, uint64_t
 * count), a plain struct by pointer. A scalar result is returned; a plain struct result is written
 * through a leading pointer parameter. */
typedef struct godwit_build_v1 {
  const void* ir;
  size_t ir_size;
  const char* function;
  size_t function_size;
  const char* signature; /* docs/types.md, e.g. "(span<f64>, f64) -> f64" */
  size_t signature_size;
} godwit_build_v1;

/* What a verb returns that has nothing to say yet. */
enum { GODWIT_NOT_YET = -1 };

enum { GODWIT_LOG_DEBUG = 0, GODWIT_LOG_INFO = 1, GODWIT_LOG_WARN = 2, GODWIT_LOG_ERROR = 3 };

/* Flags of call(). */
enum {
  GODWIT_CALL_ONE_WAY = 1 /* no outcome is kept; call() returns 0 on success */
};

/* --- Regions: memory that nodes expose (docs/regions.md) --- */

/* Which element lies where. An element's position is its index, or for GODWIT_SHARD_HASHED a
 * permutation of the indices below `capacity`; positions are dealt out to the shards in turn,
 * `chunk` in a row. For GODWIT_SHARD_PLACED a table says which shard has which chunk.
 * godwit/sharding.hpp is the arithmetic. */
typedef struct godwit_shard_map {
  uint64_t capacity; /* elements there is room for, in all shards together */
  uint64_t chunk;    /* not 0 */
  uint32_t shards;   /* not 0 */
  uint32_t kind;     /* GODWIT_SHARD_... */
} godwit_shard_map;

enum { GODWIT_SHARD_IN_ORDER = 0, GODWIT_SHARD_HASHED = 1, GODWIT_SHARD_PLACED = 2 };

/* A region as this node sees it. What it points at is valid until the entry returns. */
typedef struct godwit_region_v1 {
  uint32_t size;         /* sizeof this struct; set by the caller */
  uint32_t element_size; /* in bytes */
  uint64_t id;
  uint64_t elements; /* of the whole region; at most map.capacity */
  godwit_shard_map map;
  const uint64_t* nodes; /* the home of each shard; 0: lost with its node */
  uint32_t shard;        /* this node's own, or GODWIT_NO_SHARD */
  uint32_t rights;       /* GODWIT_REGION_... */
  void* data;            /* this node's shard; null without one */
  uint64_t data_elements;
  const char* name; /* from here on null and 0 on nodes that do not know it */
  size_t name_size;
  const uint32_t* placement; /* for GODWIT_SHARD_PLACED; laid out as godwit/sharding.hpp says */
} godwit_region_v1;

#define GODWIT_NO_SHARD UINT32_MAX
enum { GODWIT_REGION_READ = 1, GODWIT_REGION_WRITE = 2 };

/* A change to wait for: that of an element of 1, 2, 4 or 8 bytes. */
typedef struct godwit_change {
  uint64_t region; /* its id */
  uint64_t index;
  uint64_t last_seen;    /* the element's bits, the rest 0: it has changed once it has others */
  uint32_t element_size; /* in bytes */
  uint32_t value_at; /* where in the arguments the new bits are put, in bytes; those are there */
} godwit_change;

/* --- Objects (docs/types.md, "Objects"): a handle is the 64 bytes of godwit/handle.hpp --- */

/* Until when an object lives, if nobody evicts it before; the values are those of
 * godwit::Lifetime::Kind. */
enum {
  GODWIT_LIVES_UNTIL_EVICTED = 0,
  GODWIT_LIVES_FOR_LEASE = 1,    /* lease_ns from now on */
  GODWIT_LIVES_WITH_PROCESS = 2, /* as long as the node's process */
  GODWIT_LIVES_FOR_READERS = 3   /* until it was resolved `readers` times */
};

/* A new object: the parts one after another. */
typedef struct godwit_put_v1 {
  uint32_t size;     /* sizeof this struct */
  uint32_t lifetime; /* GODWIT_LIVES_... */
  uint32_t readers;
  uint32_t reserved; /* 0 */
  int64_t lease_ns;
  const char* type; /* docs/types.md */
  size_t type_size;
  const godwit_bytes* parts;
  size_t part_count;
} godwit_put_v1;

/* How a version of an object that others may be waiting for comes to be, or does not. */
enum {
  GODWIT_FULFIL = 0,       /* the promised object: the parts one after another */
  GODWIT_UPDATE = 1,       /* the next version after the one that the handle names: likewise */
  GODWIT_BREAK_PROMISE = 2 /* there will be none: `error` and `why` say so to those who wait */
};
typedef struct godwit_settle_v1 {
  uint32_t size; /* sizeof this struct */
  uint32_t how;  /* GODWIT_FULFIL, ... */
  const char* type;
  size_t type_size; /* docs/types.md; checked, unless the promise is broken */
  const godwit_bytes* parts;
  size_t part_count;
  int32_t error; /* a godwit::ErrorCode */
  const char* why;
  size_t why_size;
} godwit_settle_v1;

/* --- Ranks (docs/forward.md): a function as one of those that pass items of work to each other ---
 */

/* Where the next item for a rank is written: at `at`, if it fits before `end`. */
typedef struct godwit_cursor {
  unsigned char* at;
  unsigned char* end;
  void* chunk; /* the node's */
} godwit_cursor;

/* How a kernel hands items on; for one thread. */
typedef struct godwit_outgoing {
  uint32_t size; /* sizeof this struct */
  int32_t rank;  /* of the function: 0 to nodes - 1 */
  int32_t nodes; /* how many ranks are nodes; the one with this number is the program that called */
  int32_t stride;         /* cursors[priority * stride + rank] */
  godwit_cursor* cursors; /* an item is as large and aligned as godwit_rank_v1 says */
  void* context;
  /* Makes room for an item at that cursor: 0, or a godwit::Emitted that says why the item is not
   * taken, which ends the exchange. The cursor has changed afterwards. */
  uint32_t (*refill)(const struct godwit_outgoing* out, int32_t rank, uint32_t priority);
  /* The kernel cannot go on: the exchange ends with this on all ranks. `error` is a
   * godwit::ErrorCode. */
  void (*fail)(const struct godwit_outgoing* out, uint32_t error, const char* text, size_t size);
} godwit_outgoing;

typedef struct godwit_rank_v1 {
  uint32_t size; /* sizeof this struct */
  uint32_t item_size;
  uint32_t item_align;
  uint32_t reserved;     /* 0 */
  const char* item_type; /* docs/types.md; the same on all ranks */
  size_t item_type_size;
  const void* order; /* what the program that called says of the exchange: a godwit::RankOrder */
  size_t order_size;
  void* kernel; /* handed to process() */
  /* Processes items that have come. Called by the calling thread, and if the order says so by more
   * at the same time; not after a failure. */
  void (*process)(void* kernel, const void* items, size_t count, const godwit_outgoing* out);
  /* Filled in. */
  uint64_t processed; /* items, on this rank */
  uint64_t emitted;
  uint64_t rounds; /* 0: it went without */
} godwit_rank_v1;

/* Verbs return 0 on success and a godwit::ErrorCode otherwise, unless they say otherwise; after a
 * failure last_error() explains it. A verb marked [blocks] fails with would_block in a function
 * exported as inline. All may be called from any thread of the call, until the entry returns. */
typedef struct godwit_here_v1 {
  uint32_t size; /* sizeof the table the node offers */
  uint32_t hops_left;
  void* context;

  uint64_t (*self)(const struct godwit_here_v1* here); /* this node's id */
  /* Ids of the fleet's live nodes in order of their names; returns how many there are, which may
   * exceed `capacity`. */
  size_t (*nodes)(const struct godwit_here_v1* here, uint64_t* ids, size_t capacity);
  /* The node of that name, or 0. */
  uint64_t (*find_node)(const struct godwit_here_v1* here, const char* name, size_t name_size);
  void (*log)(const struct godwit_here_v1* here, int32_t level, const char* text, size_t size);
  int64_t (*remaining_ns)(const struct godwit_here_v1* here); /* until this call's deadline */
  int32_t (*cancelled)(const struct godwit_here_v1* here);    /* 1 once the caller gave up */

  /* Starts a call of `function` at `node`; its arguments are the parts one after another, copied
   * before this returns. The handle is written to *handle. */
  int32_t (*call)(const struct godwit_here_v1* here, uint64_t node,
                  const godwit_function_ref* function, const godwit_bytes* parts, size_t part_count,
                  uint32_t flags, uint64_t* handle);
  /* [blocks] Waits for the call's end, at most until this call's own deadline. */
  int32_t (*wait)(const struct godwit_here_v1* here, uint64_t handle, godwit_outcome* outcome);
  /* Forgets the handle; cancels the call if it has not ended. */
  void (*release)(const struct godwit_here_v1* here, uint64_t handle);

  /* This call goes on as `function` at `node` once the entry returns GODWIT_CONTINUE. */
  int32_t (*continue_at)(const struct godwit_here_v1* here, uint64_t node,
                         const godwit_function_ref* function, const godwit_bytes* parts,
                         size_t part_count);

  /* Sends a bundle to `node` before it is needed there; null: the caller's own. */
  int32_t (*spread)(const struct godwit_here_v1* here, uint64_t node, const uint8_t* bundle);
  /* [blocks] Makes a bundle with one function out of IR; writes its id. It can be called here,
   * elsewhere, and spread, like any other. */
  int32_t (*build)(const struct godwit_here_v1* here, const godwit_build_v1* request,
                   uint8_t bundle[32]);

  /* The explanation of this thread's last failed verb; never null. Valid until the next verb. */
  const char* (*last_error)(const struct godwit_here_v1* here);

  /* The region of that name. Errors: not_found. */
  int32_t (*find_region)(const struct godwit_here_v1* here, const char* name, size_t name_size,
                         uint64_t* id);
  /* Fills in *view. `type` is the element's type string, or null for any; `rights` are those the
   * caller needs. Errors: not_found, type_mismatch, permission, node_lost (this node had a shard in
   * an earlier life; what was in it is gone). */
  int32_t (*region)(const struct godwit_here_v1* here, uint64_t id, const char* type,
                    size_t type_size, uint32_t rights, godwit_region_v1* view);
  /* [blocks] Makes this node's part of a region what the descriptor says: creates it, makes it
   * larger, seals or drops it. Errors: bad_format, invalid_argument, already_exists,
   * resource_exhausted, io. */
  int32_t (*apply_region)(const struct godwit_here_v1* here, const void* descriptor, size_t size);

  /* Makes sure that a function can be called, and has that signature: arguments do not say their
   * types. A bundle that is not known here is asked for where this call came from, which [blocks];
   * from then on the verbs above know it too. Errors: unknown_code, unknown_function,
   * type_mismatch, would_block. */
  int32_t (*check_function)(const struct godwit_here_v1* here, const godwit_function_ref* function,
                            const char* signature, size_t signature_size);
  /* Like call(), of the home of the change's element, where the function begins once the element
   * has changed. */
  int32_t (*call_when)(const struct godwit_here_v1* here, uint64_t node,
                       const godwit_change* change, const godwit_function_ref* function,
                       const godwit_bytes* parts, size_t part_count, uint64_t* handle);
  /* The id of the bundle that runs, for others to call its functions by. Always succeeds. */
  void (*own_code)(const struct godwit_here_v1* here, uint8_t bundle[32]);

  /* Does to objects that this node is the home of what the process that made the call requests, and
   * writes the answer as this call's result, of type bytes: return GODWIT_ANSWERED then. Both are
   * laid out as docs/protocol.md says. GODWIT_NOT_YET, in a function exported as inline only:
   * return GODWIT_AGAIN. In such a function what would take long fails with would_block. */
  int32_t (*answer_about_objects)(const struct godwit_here_v1* here, const void* request,
                                  size_t size);

  /* The bytes of an object, 16-byte aligned; they stay as they are until the entry returns. `type`
   * is its type string, or null for any. An object of this node that is in memory is where it is;
   * any other is brought here, which [blocks]. Errors: not_found, permission, stale, type_mismatch,
   * node_lost, unreachable, would_block, deadline, resource_exhausted (too many for one call). */
  int32_t (*resolve_object)(const struct godwit_here_v1* here, const void* handle, const char* type,
                            size_t type_size, godwit_bytes* bytes);
  /* Makes an object of this node, which copies the parts, and writes its handle, of 64 bytes.
   * Errors: resource_exhausted (the node's object_budget_mb), and would_block in a function
   * exported as inline, if there is no memory at hand. */
  int32_t (*put_object)(const struct godwit_here_v1* here, const godwit_put_v1* request,
                        void* handle);
  /* Does that to the object of `handle`, and writes the handle of what became of it to `settled`
   * unless that is null. An object of another node [blocks]. Errors: already_exists (the promise
   * was kept or broken before), stale (somebody else has published a version), type_mismatch,
   * not_found, permission, borrowed, node_lost, resource_exhausted, would_block. */
  int32_t (*settle_object)(const struct godwit_here_v1* here, const void* handle,
                           const godwit_settle_v1* request, void* settled);

  /* [blocks] Makes this call a rank of the exchange that the order names, until no item is left on
   * any rank. Errors: those of an Exchange (godwit/exchange.hpp), the same on all ranks; overload
   * (this node is as many ranks as it may be), cancelled, deadline (of this call). */
  int32_t (*run_rank)(const struct godwit_here_v1* here, godwit_rank_v1* rank);
} godwit_here_v1;

/* `args` is the argument blob (docs/types.md). Of a call whose arguments are objects in part,
 * descriptors lead out of it, modulo 2^64, to where those lie: the node has checked all of them
 * then, and `args_size` is SIZE_MAX. */
typedef int32_t (*godwit_entry)(const godwit_here_v1* here, const void* args, size_t args_size,
                                godwit_reply* reply);

/* One exported function, as GODWIT_EXPORT leaves it in the ELF section "godwit_exports", where the
 * toolchain reads it without running anything. Offsets are from the record's own address, so that
 * the record needs no relocation. A bundle's function order is the order of these records. */
typedef struct godwit_export_v1 {
  uint32_t size;  /* of this record, with its strings; a multiple of 8 */
  uint32_t flags; /* GODWIT_EXPORT_... */
  uint32_t name_offset, name_size;
  uint32_t signature_offset, signature_size;
  uint32_t entry_offset, entry_size; /* the entry's symbol name */
} godwit_export_v1;

enum {
  GODWIT_EXPORT_INLINE = 1,    /* short and never blocking: runs on the polling thread */
  GODWIT_EXPORT_IDEMPOTENT = 2 /* may run again if its node is lost */
};

#ifdef __cplusplus
}
#endif
#endif
