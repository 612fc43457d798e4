import { type Client, createClient, type ResourceClient } from "../../exports/client.ts";
import { decodePart } from "./names.ts";
import { root } from "./root.ts";
import { send } from "./session.ts";
import type { ResourceDescription } from "./facts.ts";

/** A row of any resource. */
export type Row = Readonly<Record<string, unknown>>;

/** What the dashboard knows of each resource while it is compiled. */
export interface AnyResource {
  readonly path: string;
  readonly key: string | readonly string[];
  readonly row: Row;
  readonly create: Row;
  readonly update: Row;
  readonly relations: Readonly<Record<string, Row>>;
  readonly etag: boolean;
  readonly procedures: object;
}

/** The requests to a resource. */
export type AnyClient = ResourceClient<AnyResource>;

/** How the rows are read: as the operator, or with the rights of a user, by the token for that. */
export interface Rows {
  /** The requests to a resource. */
  of(resource: Pick<ResourceDescription, "path">): AnyClient;
  /** Where a resource is, for requests that are not the client's. */
  urlOf(resource: Pick<ResourceDescription, "path">): string;
  /** The headers of each request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The rows with the rights of the operator. */
export const operatorRows: Rows = rowsAt({ baseUrl: root, basePath: "/api" }, {});

/** The rows with the rights of a user; the token says which one. Their path is that of the service. */
export function viewedRows(token: string, basePath: string): Rows {
  return rowsAt({ baseUrl: `${root}/as`, basePath }, { "service-view-as": token });
}

function rowsAt(
  place: { readonly baseUrl: string; readonly basePath: string },
  headers: Readonly<Record<string, string>>,
): Rows {
  const client: Client<Record<string, AnyResource>> = createClient({
    ...{ ...place, headers },
    fetch: (request) => send(request),
  });
  const urlOf = ({ path }: { readonly path: string }) =>
    `${place.baseUrl}${place.basePath}/${path}`;
  return {
    of({ path }) {
      const resource = hasSlash({ path })
        ? createClient<Record<string, AnyResource>>({
          ...{ ...place, headers },
          fetch: (request) => fetchAt(request, urlOf({ path: "_" }), urlOf({ path })),
        })["_"]
        : client[path.split("/").map(decodePart).join("/")];
      if (resource === undefined) throw new TypeError(`No resource is at ${path}`);
      return resource;
    },
    urlOf,
    headers,
  };
}

/** True if the name of the table contains a slash, which the client does not encode. */
export function hasSlash({ path }: Pick<ResourceDescription, "path">): boolean {
  return /%2F/i.test(path);
}

/** Returns the value of a field. Rows inherit names such as `constructor`. */
export function valueIn(row: Row, name: string): unknown {
  return Object.hasOwn(row, name) ? row[name] : undefined;
}

/** The key of a row in a link, as in a URL of the service: the values of its fields. */
export function keyOfRow({ key }: Pick<ResourceDescription, "key">, row: Row): readonly string[] {
  return key.map((field) => String(valueIn(row, field)));
}

/** As {@link keyOfRow}, as one part of a path. */
export function keyText(key: readonly string[]): string {
  const text = key.map(encodeURIComponent).join(",");
  // Browsers resolve these, and the service omits a comma before a key of one column.
  return /^\.{0,2}$/.test(text) ? `,${text}` : text;
}

/** The key that {@link keyText} has written, or null if the text is malformed. */
export function keyOfText(text: string): readonly string[] | null {
  const parts = text.replace(/^,(?=\.{0,2}$)/, "").split(",").map(decodePart);
  return parts.every((part) => part !== null) ? parts : null;
}

/** Sends a request of the client to another address. */
async function fetchAt(request: Request, from: string, to: string): Promise<Response> {
  const { method, headers, signal, url } = request;
  const body = await request.text();
  const init = { method, headers, signal, redirect: "manual" as const, ...body !== "" && { body } };
  return await send(to + url.slice(from.length), init);
}
