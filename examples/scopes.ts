/**
 * Policies along relations: the members of a project see it with its tasks and change these; only the
 * owner changes the project and its members. Other users do not learn that it exists.
 *
 *     deno run -A examples/scopes.ts
 *
 *     curl http://127.0.0.1:8000/api/projects -H 'x-user: ada' --json '{"title":"Moon"}'
 *     # {"id":1,"ownerId":"ada","title":"Moon"}
 *     curl http://127.0.0.1:8000/api/members -H 'x-user: ada' --json '{"projectId":1,"userId":"bob"}'
 *     # {"projectId":1,"userId":"bob"}
 *     curl http://127.0.0.1:8000/api/tasks -H 'x-user: bob' --json '{"projectId":1,"title":"Fly"}'
 *     # {"id":1,"projectId":1,"title":"Fly","done":false}
 *     curl -g 'http://127.0.0.1:8000/api/projects?include=tasks(select:title)' -H 'x-user: bob'
 *     # {"items":[{"id":1,"ownerId":"ada","title":"Moon","tasks":[{"title":"Fly"}]}],…}
 *     curl http://127.0.0.1:8000/api/projects -H 'x-user: eve'
 *     # {"items":[],"nextCursor":null,"hasMore":false}
 *     curl http://127.0.0.1:8000/api/tasks -H 'x-user: eve' --json '{"projectId":1,"title":"Spy"}'
 *     # {…"status":403,…}
 *     curl http://127.0.0.1:8000/api/members -H 'x-user: bob' --json '{"projectId":1,"userId":"eve"}'
 *     # {…"status":403,…}
 */
import {
  boolean,
  eq,
  integer,
  openDatabase,
  or,
  policy,
  relations,
  resource,
  serve,
  table,
  text,
  type User,
} from "@svc/resource-api";

const projects = table("projects", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
});
const members = table("members", {
  projectId: integer().primaryKey().as("project_id").references(() => projects.id),
  userId: text().primaryKey().as("user_id"),
});
const tasks = table("tasks", {
  id: integer().primaryKey(),
  projectId: integer().notNull().as("project_id"),
  title: text().notNull(),
  done: boolean().notNull().default(false),
});

const db = await openDatabase("sqlite::memory:");
await db.createTables([projects, members, tasks]);

const ofProjects = relations(projects, {
  members: { type: "hasMany", resource: members, foreignKey: members.projectId },
  tasks: { type: "hasMany", resource: tasks, foreignKey: tasks.projectId },
});
const ofMembers = relations(members, {
  project: { type: "belongsTo", resource: projects, foreignKey: members.projectId },
});
const ofTasks = relations(tasks, {
  project: { type: "belongsTo", resource: projects, foreignKey: tasks.projectId },
});

// Each rule exists once. The rules of members and tasks use those of their project.
const owner = policy(
  projects,
  "owner of the project",
  (user: User) => eq(projects.ownerId, user.id),
);
const member = policy(
  projects,
  "owner or member",
  (user: User) => or(owner(user), ofProjects.members.some(eq(members.userId, user.id))),
);
const memberOwner = policy(
  members,
  "owner of the project of the member",
  (user: User) => ofMembers.project.some(owner(user)),
);
const colleague = policy(
  members,
  "member of the same project",
  (user: User) => ofMembers.project.some(member(user)),
);
const taskMember = policy(
  tasks,
  "member of the project of the task",
  (user: User) => ofTasks.project.some(member(user)),
);

await serve({
  db,
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (context, next) => {
      const id = context.req.header("x-user");
      if (id !== undefined) context.set("user", { id });
      await next();
    },
  },
  resources: [
    resource(projects, {
      id: projects.id,
      relations: ofProjects,
      auth: { read: member, create: owner, update: owner, delete: owner },
      generatedFields: [projects.ownerId],
    }),
    resource(members, {
      id: [members.projectId, members.userId],
      relations: ofMembers,
      auth: { read: colleague, create: memberOwner, delete: memberOwner },
    }),
    resource(tasks, {
      id: tasks.id,
      relations: ofTasks,
      auth: { read: taskMember, create: taskMember, update: taskMember, delete: taskMember },
    }),
  ],
});
