import type { User } from "../../auth/user.ts";
import { clientAddress } from "../../guard/client_address.ts";
import { type Debit, noDebit } from "../../guard/budget/debit.ts";
import type { Reply } from "../../protocol/reply.ts";
import { parseBody, readBody } from "./request_body.ts";
import { operationPath } from "./operation_path.ts";
import type { Caller, RequestTarget, ResourceRouterOptions } from "./resource_router.ts";
import type { RecordReply, ResourceRequest } from "../operation.ts";
import { parseQuery } from "./query_parameters.ts";
import type { Resource } from "../define/resource.ts";
import type { Endpoint } from "./routes.ts";

/** Where a request arrives. */
export interface RouteMatch {
  readonly endpoint: Endpoint;
  readonly resource: Resource;
  /** The raw path segments behind the resource's own path. */
  readonly segments: readonly string[];
}

/**
 * A request at its endpoint, before it is let in: what the guard and the keys ask of it, and the way
 * on. A class, because functions of its own for every request cost more than what they do.
 */
export class RoutedRequest {
  readonly request: Request;
  readonly target: RequestTarget;
  readonly user: User | null;
  readonly #caller: Caller;
  readonly #destination: RouteMatch;
  readonly #options: ResourceRouterOptions;
  #reading: Promise<Uint8Array<ArrayBuffer>> | null = null;

  /** Asks who sends it, and nothing else. */
  constructor(incoming: ReceivedRequest, destination: RouteMatch, options: ResourceRouterOptions) {
    this.request = incoming.request;
    this.target = incoming.target;
    this.user = incoming.caller.user();
    this.#caller = incoming.caller;
    this.#destination = destination;
    this.#options = options;
  }

  /** The client's address; null where nobody tells it. */
  address(): string | null {
    return clientAddress(
      this.request.headers,
      this.#caller.address(),
      this.#options.trustedProxies,
    );
  }

  /** The body as it came, read once; empty for operations that take none. Fails with 408 to 415. */
  body(): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#reading === null) {
      const { limits, clock } = this.#options;
      this.#reading = this.#destination.endpoint.takesBody
        ? readBody(this.request, limits, clock)
        : Promise.resolve(new Uint8Array());
    }
    return this.#reading;
  }

  /** Runs the operation. Not `async`: one promise less between request and answer. */
  run(debit: Debit, record: RecordReply | null): Promise<Reply> {
    return this.#destination.endpoint.takesBody
      ? this.body().then((bytes) => this.#runWith(parseBody(bytes), debit, record))
      : this.#runWith(undefined, debit, record);
  }

  /** Throws where the caller has no right to the operation, as {@link run} would; does nothing. */
  async authorize(): Promise<void> {
    const { endpoint, resource } = this.#destination;
    const bytes = await this.body();
    const request = () =>
      this.#asked(endpoint.takesBody ? parseBody(bytes) : undefined, noDebit, null);
    await endpoint.authorize(request, this.user, resource);
  }

  /** The path in one spelling, which another that leads to the same operation and row shares. */
  operationPath(): string {
    const { segments, resource } = this.#destination;
    return operationPath(segments, resource);
  }

  #runWith(
    body: unknown,
    debit: Debit,
    record: RecordReply | null,
  ): Promise<Reply> {
    const { endpoint, resource } = this.#destination;
    return endpoint.run(this.#asked(body, debit, record), this.user, resource);
  }

  #asked(body: unknown, debit: Debit, record: RecordReply | null): ResourceRequest {
    const { request, target } = this;
    return {
      segment: this.#destination.segments[0] ?? "",
      query: parseQuery(target.query),
      body,
      header: (name) => request.headers.get(name),
      address: () => this.address(),
      debit,
      raw: request,
      delivery: this.#caller,
      record,
    };
  }
}

/** A request from somebody. */
export interface ReceivedRequest {
  readonly request: Request;
  readonly target: RequestTarget;
  readonly caller: Caller;
}
