import type { Chance } from "../chance.ts";
import type { WorldOptions } from "./options.ts";
import type { Row } from "./history.ts";
import { type UserName, users } from "./rights.ts";
import type { Place } from "./tables.ts";

/** A filter as a request has it, and what it means. */
export interface Condition {
  readonly text: string;
  passes(row: Row): boolean;
}

/** Who follows which rows, and how they are shown. */
export interface Interest {
  readonly user: UserName;
  readonly place: Place;
  readonly condition: Condition;
  /** The fields that are shown; null for all. */
  readonly select: readonly string[] | null;
  /** As a request has it; empty for none. */
  readonly include: string;
}

/** An aggregate that a client follows. */
export interface Question {
  readonly user: UserName;
  readonly condition: Condition;
  readonly groupBy: "flag" | "projectId" | null;
  /** Beside the count, the sum of sizes and the greatest title. */
  readonly more: string;
}

/** What some clients follow: often the same, because what is followed alike is shared. */
export function randomInterests(
  chance: Chance,
  count: number,
  options: WorldOptions,
): readonly Interest[] {
  return Array.from({ length: count }, () => randomInterest(chance, options));
}

function randomInterest(chance: Chance, options: WorldOptions): Interest {
  const place = chance.weighted({ items: 12, notes: 4, projects: 1, tags: 1, itemTags: 0 });
  return {
    user: chance.weighted({ u1: 4, u2: 4, u3: 1, root: 2 }),
    place,
    condition: place !== "items" || chance.once(3) ? everything : chance.pick(conditions),
    select: place === "items" && chance.once(5) ? chance.pick(selections) : null,
    include: options.includes && chance.once(2) ? chance.pick(inclusions[place]) : "",
  };
}

/** The questions of some clients. */
export function randomQuestions(chance: Chance, count: number): readonly Question[] {
  return Array.from({ length: count }, () => ({
    user: chance.pick(users),
    condition: chance.once(2) ? everything : chance.pick(conditions),
    groupBy: chance.pick(["flag", "projectId", null] as const),
    more: chance.pick(["", "", "&min=score,price", "&avg=price,size", "&sum=far", "&sum=score"]),
  }));
}

/** The query of a resource for it. */
export function queryOf({ condition, select, include }: Interest): string {
  const query = new URLSearchParams();
  if (condition.text !== "") query.set("filter", condition.text);
  if (select !== null) query.set("select", select.join());
  if (include !== "") query.set("include", include);
  return query.toString().replaceAll("+", "%20");
}

/** The query of an aggregate for it; the sum may not stand twice. */
export function questionQuery({ condition, groupBy, more }: Question): string {
  const sum = /&sum=(\w+)/.exec(more)?.[1];
  const rest = more.replace(/&sum=\w+/, "");
  const filter = condition.text === "" ? "" : `&filter=${encodeURIComponent(condition.text)}`;
  return `count=true&sum=size${sum === undefined ? "" : `,${sum}`}&max=title${rest}${
    groupBy === null ? "" : `&groupBy=${groupBy}`
  }${filter}`;
}

const everything: Condition = { text: "", passes: () => true };

function compared(
  text: string,
  name: string,
  compare: (value: number) => boolean,
): Condition {
  // A comparison with NULL is never true.
  return { text, passes: (row) => row[name] !== null && compare(Number(row[name])) };
}

/** Borders that edits cross all the time. */
const conditions: readonly Condition[] = [
  compared("size<5", "size", (value) => value < 5),
  compared("size!=3", "size", (value) => value !== 3),
  compared("score>0.3", "score", (value) => value > 0.3),
  compared("score<=0.3333333333333333", "score", (value) => value <= 1 / 3),
  compared("score==0.1", "score", (value) => value === 0.1),
  compared("price>=1.5", "price", (value) => value >= 1.5),
  compared("projectId=in=(1,2)", "projectId", (value) => value === 1 || value === 2),
  { text: "flag==true", passes: ({ flag }) => flag === true },
  { text: "flag==null", passes: ({ flag }) => flag === null },
  { text: "ownerId==u1", passes: ({ ownerId }) => ownerId === "u1" },
  {
    text: "ownerId==u2;size>=4",
    passes: ({ ownerId, size }) => ownerId === "u2" && size !== null && Number(size) >= 4,
  },
  {
    text: "title=startswith=secret",
    passes: ({ title }) => String(title ?? "").startsWith("secret"),
  },
];

const selections: readonly (readonly string[])[] = [
  ["id", "title"],
  ["title", "score"],
  ["size"],
];

const inclusions: Readonly<Record<Place, readonly string[]>> = {
  items: [
    ...["project", "notes", "tags", "project,notes,tags", "project(select:id,name)"],
    "notes(orderBy:-id;limit:2)",
  ],
  notes: ["item", "item(include:project)", "item(include:tags)"],
  projects: ["items", "items(include:notes)", "items(orderBy:-title;limit:3;select:id,title)"],
  tags: [""],
  itemTags: [""],
};
