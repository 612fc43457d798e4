import { assertEquals } from "@std/assert";
import {
  and,
  eq,
  integer,
  or,
  policy,
  relations,
  resource,
  table,
  text,
  type User,
} from "../../mod.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

const teams = table("teams", { id: integer().primaryKey(), name: text() });
const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  userId: text().notNull().as("user_id"),
  role: text().notNull(),
  note: text(),
});
const folders = table("folders", {
  id: integer().primaryKey(),
  parentId: integer().as("parent_id"),
  ownerId: text().as("owner_id"),
});
const ofTeams = relations(teams, {
  members: { type: "hasMany", resource: members, foreignKey: members.teamId },
});
const ofMembers = relations(members, {
  team: { type: "belongsTo", resource: teams, foreignKey: members.teamId },
});
const ofFolders = relations(folders, {
  parent: { type: "belongsTo", resource: folders, foreignKey: folders.parentId },
});

const admin = policy(
  teams,
  "admin",
  (user: User) => ofTeams.members.some(and(eq(members.userId, user.id), eq(members.role, "admin"))),
);
/** Admins add members, and the first member of a team without members adds itself. */
const adds = policy(members, "admin or founder", (user: User) =>
  or(
    ofMembers.team.some(admin(user)),
    and(eq(members.userId, user.id), ofMembers.team.some(ofTeams.members.none())),
  ));
/** Ann owns folders at the top, and each user creates folders in the own folders. */
const inOwn = policy(folders, "owner of the parent", (user: User) =>
  or(
    and(eq(folders.ownerId, user.id), eq(folders.ownerId, "ann")),
    ofFolders.parent.some(eq(folders.ownerId, user.id)),
  ));

const resources = [
  resource(teams, {
    id: teams.id,
    relations: ofTeams,
    auth: { read: admin, create: () => eq(teams.name, "new"), update: admin },
    nestedWrites: true,
  }),
  resource(members, {
    id: members.id,
    relations: ofMembers,
    auth: { public: { read: true }, create: adds, update: adds },
    capabilities: { enableImport: true },
    batch: { create: 300 },
  }),
  resource(folders, { id: folders.id, relations: ofFolders, auth: { create: inOwn } }),
];

const member = (id: number, teamId: number, userId: string, role = "admin") => ({
  ...{ id, teamId, userId, role },
});

/** Writes by users of team 1, which has an admin, and of team 2, which has no member. */
const writes: readonly (readonly [name: string, user: string, request: string, unknown, number])[] =
  [
    ["a stranger as an admin", "eve", "POST members", member(5, 1, "eve"), 403],
    ["an admin adds a member", "ann", "POST members", member(5, 1, "bob", "viewer"), 201],
    ["two rows that permit each other", "eve", "POST members/batch", {
      items: [member(5, 1, "eve"), member(6, 1, "eve")],
    }, 403],
    ["a permitted row that permits another", "bob", "POST members/batch", {
      items: [member(6, 2, "eve", "viewer"), member(5, 2, "bob")],
    }, 201],
    ["a row that permits many", "bob", "POST members/batch", {
      items: [
        member(5, 2, "bob"),
        ...Array.from({ length: 250 }, (_, index) => member(index + 10, 2, "eve", "viewer")),
      ],
    }, 201],
    ["many strangers", "eve", "POST members/batch", {
      items: Array.from({ length: 250 }, (_, index) => member(index + 10, 1, "eve")),
    }, 403],
    ["an upsert of a stranger", "eve", "POST members/batch/upsert", {
      items: [member(5, 1, "eve")],
    }, 403],
    ["the founder of an empty team", "bob", "POST members", member(5, 2, "bob"), 201],
    ["a second founder", "eve", "POST members", member(5, 1, "eve", "viewer"), 403],
    ["a team with its founder", "bob", "POST teams", {
      ...{ id: 4, name: "new", members: [{ id: 5, userId: "bob", role: "admin" }] },
    }, 201],
    ["a team without its founder", "bob", "POST teams", {
      ...{ id: 4, name: "new", members: [{ id: 5, userId: "eve", role: "admin" }] },
    }, 403],
    ["an admin of another team moves in", "zoe", "PATCH members/2", { teamId: 1 }, 403],
    ["all of them move in", "zoe", "PATCH members/batch", {
      ...{ filter: "userId==zoe", patch: { teamId: 1 } },
    }, 403],
    ["it moves in by a PUT", "zoe", "PUT members/2", member(2, 1, "zoe"), 403],
    ["it moves in by a batch of PUTs", "zoe", "PUT members/batch", {
      items: [member(2, 1, "zoe")],
    }, 403],
    ["it moves in by an upsert", "zoe", "POST members/batch/upsert", {
      items: [member(2, 1, "zoe")],
    }, 403],
    [
      "it moves in by a relation",
      "zoe",
      "PATCH teams/3",
      { members: { connect: [{ id: 2 }] } },
      200,
    ],
    ["an admin of both moves a member", "ann", "PATCH members/3", { teamId: 1 }, 200],
    ["the only admin writes its own row", "zoe", "PATCH members/2", { note: "x" }, 200],
    ["it replaces its own row", "zoe", "PUT members/2", { ...member(2, 3, "zoe"), note: "x" }, 200],
    ["it replaces its own row in a batch", "zoe", "PUT members/batch", {
      items: [{ ...member(2, 3, "zoe"), note: "x" }],
    }, 200],
    ["it promotes another member", "zoe", "PATCH members/4", { role: "admin" }, 200],
    ["a batch keeps the role of the only admin", "zoe", "PATCH members/batch", {
      ...{ filter: "teamId==3;userId!=ann", patch: { role: "admin" } },
    }, 200],
    ["a folder that is its own parent", "eve", "POST folders", {
      ...{ id: 1, parentId: 1, ownerId: "eve" },
    }, 403],
    ["a folder with its parent", "ann", "POST folders/batch", {
      items: [{ id: 2, parentId: 1, ownerId: "bob" }, { id: 1, parentId: null, ownerId: "ann" }],
    }, 201],
    ["a circle of folders", "eve", "POST folders/batch", {
      items: [{ id: 2, parentId: 1, ownerId: "eve" }, { id: 1, parentId: 2, ownerId: "eve" }],
    }, 403],
  ];

testOnEngines("a new row is never the reason for the right to create it", async (engine) => {
  for (const [name, user, request, body, status] of writes) {
    await withService(engine, [teams, members, folders], () => ({
      basePath: "/api",
      resources,
    }), async ({ db, send }) => {
      await insertRows(db, teams, [
        { id: 1, name: "one" },
        { id: 2, name: "two" },
        { id: 3, name: "three" },
      ]);
      await insertRows(db, members, [
        member(1, 1, "ann"),
        member(2, 3, "zoe"),
        member(3, 3, "ann"),
        member(4, 3, "bob", "viewer"),
      ]);
      const [method = "", path] = request.split(" ");
      const answer = await send(method, `/api/${path}`, body, { "x-user": user });
      assertEquals([name, answer.status], [name, status]);
    });
  }
});

testOnEngines(
  "an import is held to it row by row",
  (engine) =>
    withService(engine, [teams, members, folders], () => ({ basePath: "/api", resources }), async (
      { db, send },
    ) => {
      await insertRows(db, teams, [
        { id: 1, name: "one" },
        { id: 2, name: "two" },
        { id: 3, name: "three" },
      ]);
      await insertRows(db, members, [
        member(1, 1, "ann"),
        member(2, 3, "zoe"),
        member(3, 3, "ann"),
        member(4, 3, "bob", "viewer"),
      ]);
      const sent = async (user: string, rows: readonly object[]) => {
        const lines = rows.map((row) => JSON.stringify(row)).join("\n");
        const headers = { "content-type": "application/x-ndjson", "x-user": user };
        return (await send("POST", "/api/members/import", lines, headers)).status;
      };
      assertEquals(await sent("eve", [member(5, 1, "eve"), member(6, 1, "eve")]), 422);
      assertEquals(await sent("bob", [member(5, 2, "bob"), member(6, 2, "eve", "viewer")]), 200);
    }),
);
