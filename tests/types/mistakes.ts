/**
 * Mistakes that the compiler reports, with the option that its error names. Each is code in which
 * `«wrong»«right»` holds the mistake and its correction; `db`, `notes` and `users` are there.
 */
export const mistakes: readonly (readonly [option: string, code: string])[] = [
  [
    "id",
    `resource(notes, {
    id: «users»«notes».id,
  });`,
  ],
  [
    "readable",
    `resource(notes, {
    id: notes.id,
    fields: {
      readable: [notes.id, «users.name»«notes.title»],
    },
  });`,
  ],
  [
    "readable",
    `resource(notes, {
    id: notes.id,
    fields: {
      readable: (user) => user === null ? [] : «[users.name]»«[notes.title]»,
    },
  });`,
  ],
  [
    "writable",
    `resource(notes, {
    id: notes.id,
    fields: {
      writable: { all: [notes.title], by: «async () => [notes.title]»«() => [notes.title]» },
    },
  });`,
  ],
  [
    "writable",
    `resource(notes, {
    id: notes.id,
    fields: {
      writable: ["«titel»«title»"],
    },
  });`,
  ],
  [
    "immutable",
    `resource(notes, {
    id: notes.id,
    fields: {
      immutable: [notes.title, «users.name»«"title"»],
    },
  });`,
  ],
  [
    "sortable",
    `resource(notes, {
    id: notes.id,
    fields: {
      sortable: [notes.«titel»«title»],
    },
  });`,
  ],
  [
    "filterabel",
    `resource(notes, {
    id: notes.id,
    fields: {
      «filterabel»«filterable»: [notes.title],
    },
  });`,
  ],
  [
    "generatedFields",
    `resource(notes, {
    id: notes.id,
    generatedFields: [«users»«notes».id],
  });`,
  ],
  [
    "versionField",
    `resource(notes, {
    id: notes.id,
    etag: {
      versionField: «users.id»«notes.version»,
    },
  });`,
  ],
  [
    "algorithm",
    `resource(notes, {
    id: notes.id,
    etag: {
      algorithm: "«sha256»«strong»",
    },
  });`,
  ],
  [
    "field",
    `resource(notes, {
    id: notes.id,
    softDelete: {
      field: «users»«notes».deletedAt,
    },
  });`,
  ],
  [
    "read",
    `resource(notes, {
    id: notes.id,
    auth: {
      read: (user) => eq(«users.name»«notes.owner», user.id),
    },
  });`,
  ],
  [
    "update",
    `resource(notes, {
    id: notes.id,
    auth: {
      update: async (user) => {
        const team = await Promise.resolve("a");
        return and(eq(notes.owner, user.id), eq(«users.name»«notes.title», team));
      },
    },
  });`,
  ],
  [
    "subscribe",
    `resource(notes, {
    id: notes.id,
    auth: {
      subscribe: (user) => eq(notes.owner, user.id)«.kind === "all"»«»,
    },
  });`,
  ],
  [
    "create",
    `resource(notes, {
    id: notes.id,
    auth: {
      create: (user: { readonly id: «number»«string» }) => eq(notes.owner, String(user.id)),
    },
  });`,
  ],
  [
    "raed",
    `resource(notes, {
    id: notes.id,
    auth: {
      public: { «raed»«read»: true },
    },
  });`,
  ],
  [
    "read",
    `resource(notes, {
    id: notes.id,
    auth: {
      public: { read: () => eq(«users.name»«notes.title», "open") },
    },
  });`,
  ],
  [
    "subscribe",
    `resource(notes, {
    id: notes.id,
    auth: {
      public: { subscribe: async () => await Promise.resolve(«1»«eq(notes.title, "a")») },
    },
  });`,
  ],
  [
    "delete",
    `resource(notes, {
    id: notes.id,
    auth: {
      delete: () => eq(notes.version, «"1"»«1»),
    },
  });`,
  ],
  [
    "read",
    `resource(notes, {
    id: notes.id,
    auth: {
      read: () => inList(notes.status, ["done", "«gone»«draft»"]),
    },
  });`,
  ],
  [
    "read",
    `resource(notes, {
    id: notes.id,
    auth: {
      read: () => like(notes.«version»«title», "a%"),
    },
  });`,
  ],
  [
    "onBeforeCreate",
    `resource(notes, {
    id: notes.id,
    hooks: {
      onBeforeCreate: (_context, data) => ({ ...data, «titel»«title»: "untitled" }),
    },
  });`,
  ],
  [
    "onBeforeUpdate",
    `resource(notes, {
    id: notes.id,
    hooks: {
      onBeforeUpdate: async (_context, _id, patch) => {
        await Promise.resolve();
        if (patch.title === undefined) return;
        return { ...patch, «statsu»«status»: "draft" };
      },
    },
  });`,
  ],
  [
    "onBeforeUpdate",
    `resource(notes, {
    id: notes.id,
    hooks: {
      onBeforeUpdate: () => Promise.resolve({ version: «"2"»«2» }),
    },
  });`,
  ],
  [
    "onBeforeDelete",
    `resource(notes, {
    id: notes.id,
    hooks: {
      onBeforeDelete: (_context, id) => console.log(eq(notes.«title»«id», id)),
    },
  });`,
  ],
  [
    "onAfterCreate",
    `resource(notes, {
    id: notes.id,
    hooks: {
      onAfterCreate: (_context, row) => console.log(row.«titel»«title»),
    },
  });`,
  ],
  [
    "onBeforeDelete",
    `resource(notes, {
    id: notes.id,
    hooks: {
      onBeforeDelete: async ({ current }) => console.log((await current()).«titel»«title»),
    },
  });`,
  ],
  [
    "onAfterDelete",
    `resource(notes, {
    id: notes.id,
    hooks: {
      onAfterDelete: (_context, _id, row) => console.log(row.«titel»«title»),
    },
  });`,
  ],
  [
    "onBeforeCraete",
    `resource(notes, {
    id: notes.id,
    hooks: {
      «onBeforeCraete»«onBeforeCreate»: () => undefined,
    },
  });`,
  ],
  [
    "price",
    `resource(notes, {
    id: notes.id,
    computed: {
      price: «async»«» (row) => «await fetch(row.title)»«row.title»,
    },
  });`,
  ],
  [
    "type",
    `resource(notes, {
    id: notes.id,
    relations: {
      author: {
        type: "«belongTo»«belongsTo»",
        resource: users,
        foreignKey: notes.authorId,
      },
    },
  });`,
  ],
  [
    "resource",
    `resource(notes, {
    id: notes.id,
    relations: {
      author: {
        type: "belongsTo",
        resource: users«.id»«»,
        foreignKey: notes.authorId,
      },
    },
  });`,
  ],
  [
    "foreignKey",
    `resource(notes, {
    id: notes.id,
    relations: {
      author: {
        type: "belongsTo",
        resource: users,
        foreignKey: «users.id»«notes.authorId»,
      },
    },
  });`,
  ],
  [
    "references",
    `resource(users, {
    id: users.id,
    relations: {
      notes: {
        type: "hasMany",
        resource: notes,
        foreignKey: notes.authorId,
        references: «notes»«users».id,
      },
    },
  });`,
  ],
  [
    "enableCrate",
    `resource(notes, {
    id: notes.id,
    capabilities: {
      «enableCrate»«enableCreate»: false,
    },
  });`,
  ],
  [
    "defaultLimit",
    `resource(notes, {
    id: notes.id,
    pagination: {
      defaultLimit: «"20"»«20»,
    },
  });`,
  ],
  [
    "batch",
    `resource(notes, {
    id: notes.id,
    batch: «50»«{ create: 50 }»,
  });`,
  ],
  [
    "handler",
    `procedure({
    input: z.object({ id: z.number() }),
    output: z.object({ total: z.number() }),
    handler: (_context, { id }) => ({ total: «String(id)»«id» }),
  });`,
  ],
  [
    "status",
    `table("t", {
    id: integer().primaryKey(),
    status: text«»«()»,
  });`,
  ],
  [
    "status",
    `table("t", {
    id: integer().primaryKey(),
    status: text({ enum: ["draft", "done"] }).default("«gone»«done»"),
  });`,
  ],
  [
    "noteId",
    `table("t", {
    id: integer().primaryKey(),
    noteId: integer().references(() => notes«»«.id»),
  });`,
  ],
  [
    "middleware",
    `await createApp({
    db,
    resources: [],
    middleware: [«"cors"»«(_context, next) => next()»],
  });`,
  ],
  [
    "resources",
    `await createApp({
    db,
    resources: [«notes»«resource(notes, { id: notes.id })»],
  });`,
  ],
  [
    "db",
    `await createApp({
    db: «"sqlite::memory:"»«db»,
    resources: [],
  });`,
  ],
  [
    "bodyLimit",
    `await createApp({
    db,
    resources: [],
    bodyLimit: «"1 MB"»«1_000_000»,
  });`,
  ],
  [
    "idempotency",
    `await createApp({
    db,
    resources: [],
    idempotency: «true»«false»,
  });`,
  ],
  [
    "maxPerUsr",
    `await createApp({
    db,
    resources: [],
    subscribe: {
      «maxPerUsr»«maxPerUser»: 5,
    },
  });`,
  ],
  [
    "prot",
    `await serve({
    db,
    resources: [],
    «prot»«port»: 8080,
  });`,
  ],
  [
    "kv",
    `await serve({
    db,
    resources: [],
    kv: «Deno.openKv()»«await Deno.openKv()»,
  });`,
  ],
  [
    "readonly",
    `await openDatabase("sqlite:notes.db", {
    «readonly»«readOnly»: true,
  });`,
  ],
];
