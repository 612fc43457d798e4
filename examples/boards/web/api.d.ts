// Written by `resource-api types`: change the service, then write it again.

export interface Cards {
  id: string;
  title: string;
  status: "todo" | "doing" | "done";
  rank: string;
  version: number;
}

export interface CardsCreate {
  id?: string;
  title: string;
  status?: "todo" | "doing" | "done";
  rank: string;
  version?: number;
}

export interface CardsUpdate {
  title?: string;
  status?: "todo" | "doing" | "done";
  rank?: string;
  version?: number;
}

export interface CardsRelations {}

/** The resources of the service, by path below its base path. */
export interface Api {
  cards: {
    path: "/api/cards";
    key: string;
    row: Cards;
    create: CardsCreate;
    update: CardsUpdate;
    relations: CardsRelations;
    targets: {};
    numeric: "version";
    etag: true;
    procedures: {};
    operations: "delete" | "batch" | "aggregate" | "subscribe";
  };
}
