// Written by `resource-api types`: change the service, then write it again.

export interface Lists {
  id: number;
  ownerId: string;
  title: string;
}

export interface ListsCreate {
  id?: number;
  ownerId?: string;
  title: string;
}

export interface ListsUpdate {
  ownerId?: string;
  title?: string;
}

export interface ListsRelations {
  tasks: Tasks[];
}

export interface Tasks {
  id: number;
  listId: number;
  title: string;
  status: "open" | "done";
  version: number;
  createdAt: string;
}

export interface TasksCreate {
  id?: number;
  listId: number;
  title: string;
  status?: "open" | "done";
  version?: number;
  createdAt?: string | number;
}

export interface TasksUpdate {
  listId?: number;
  title?: string;
  status?: "open" | "done";
  version?: number;
  createdAt?: string | number;
}

export interface TasksRelations {
  list: Lists | null;
}

/** The resources of the service, by path below its base path. */
export interface Api {
  lists: {
    path: "/api/lists";
    key: number;
    row: Lists;
    create: ListsCreate;
    update: ListsUpdate;
    relations: ListsRelations;
    targets: { tasks: Api["tasks"] };
    numeric: "id";
    etag: false;
    procedures: {};
    operations: "delete" | "batch" | "aggregate" | "subscribe";
  };
  tasks: {
    path: "/api/tasks";
    key: number;
    row: Tasks;
    create: TasksCreate;
    update: TasksUpdate;
    relations: TasksRelations;
    targets: { list: Api["lists"] };
    numeric: "id" | "listId" | "version";
    etag: true;
    procedures: {};
    operations: "delete" | "batch" | "aggregate" | "subscribe";
  };
}
