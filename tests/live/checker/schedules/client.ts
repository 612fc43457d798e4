import type { SubscribeRequest } from "../../../../src/live/stream/stream_request.ts";
import { and, type Filter } from "../../../../src/filter/filter.ts";
import { EventSourceParser } from "../event_source_parser.ts";
import type { Instance } from "./instance.ts";
import { type Positions, Replica } from "./replica.ts";
import { type Grants, type Place, thingsScope, type UserName } from "./world.ts";

/** Who follows what. */
export interface Interest {
  readonly user: UserName;
  readonly place: Place;
  /** A filter as a request has it. */
  readonly filter: string;
}

/** What a client is made of. */
export interface ClientOptions {
  readonly interest: Interest;
  readonly positions: Positions;
  readonly grants: Grants;
  /** Whether positions order all changes. */
  readonly isTotal: boolean;
}

/** A connection: it takes bytes as far as they are requested. */
interface Connection {
  readonly instance: Instance;
  readonly leaving: PromiseWithResolvers<void>;
  readonly request: Request;
  reader: ReadableStreamDefaultReader<Uint8Array> | null;
  readonly parser: EventSourceParser;
  /** Has come, and was not looked at. */
  unread: Uint8Array[];
  isReading: boolean;
  /** A block was taken: the first one says whether the client must begin again. */
  hasBegun: boolean;
  isOver: boolean;
}

/** A client that connects, reads, stalls and disconnects as the simulation says. */
export class Client {
  readonly interest: Interest;
  readonly replica: Replica;
  /** Everything that was wrong with a connection itself. */
  readonly faults: string[] = [];
  /** Says when something was taken, and what: a position, or null. */
  onToken: (token: string) => void = () => {};
  readonly #options: ClientOptions;
  #connection: Connection | null = null;
  /** The rows that are followed, as far as memory knows. */
  #filter: Filter | null = null;

  /** Is away. */
  constructor(options: ClientOptions) {
    const { interest, positions, isTotal } = options;
    const { place, user } = interest;
    this.#options = options;
    this.interest = interest;
    this.replica = new Replica({
      place,
      positions,
      isTotal,
      walks: place === "parts" && user !== "root",
    });
  }

  /** Whether there is a connection, or one being made. */
  get isConnected(): boolean {
    return this.#connection !== null;
  }

  /** Whether it has heard from the server since it came. */
  get hasBegun(): boolean {
    return this.#connection?.hasBegun ?? false;
  }

  /** Which instance it is connected to. */
  get instance(): Instance | null {
    return this.#connection?.instance ?? null;
  }

  /** The rows that it should hold; null where they depend on others. */
  get filter(): Filter | null {
    return this.#filter;
  }

  /** Connects with what it knows. Waits for nothing. */
  connect(instance: Instance): void {
    const { user, place, filter } = this.interest;
    const query = filter === "" ? "" : `?filter=${encodeURIComponent(filter)}`;
    const { token } = this.replica;
    const request = new Request(`http://test/api/${place}/subscribe${query}`, {
      headers: { "x-user": user, ...(token === "" ? {} : { "last-event-id": token }) },
    });
    this.replica.connect();
    const connection: Connection = {
      instance,
      leaving: Promise.withResolvers(),
      request,
      reader: null,
      parser: new EventSourceParser((block) => {
        const sent = this.replica.take(block);
        if (block.event === null && block.hasId) this.onToken(block.lastEventId);
        if (typeof sent === "object" && sent !== null) this.#startOver(sent.reason);
      }, token),
      unread: [],
      isReading: false,
      hasBegun: false,
      isOver: false,
    };
    this.#connection = connection;
    this.#open(connection).catch((error) => this.#fail(connection, error));
  }

  /** Requests bytes, where none are there and none were requested. */
  evaluateInDatabase(): void {
    const connection = this.#connection;
    if (connection === null || connection.reader === null || connection.isReading) return;
    if (connection.unread.length > 0 || connection.isOver) return;
    connection.isReading = true;
    connection.reader.read().then(({ value, done }) => {
      connection.isReading = false;
      if (value !== undefined) connection.unread.push(value);
      if (done) connection.isOver = true;
    }, (error) => this.#fail(connection, error));
  }

  /** Looks at some bytes of what has come; whether there were any. */
  take(most: number): boolean {
    const connection = this.#connection;
    const [first, ...rest] = connection?.unread ?? [];
    if (connection === null) return false;
    if (first === undefined) {
      // The server has ended the stream: the client resumes with what it knows.
      if (connection.isOver) this.#connection = null;
      return false;
    }
    connection.unread = first.length > most ? [first.subarray(most), ...rest] : rest;
    connection.parser.push(first.subarray(0, most));
    connection.hasBegun = true;
    return true;
  }

  /** Goes away in the middle of whatever has come. */
  disconnect(): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#connection = null;
    connection.leaving.resolve();
    connection.reader?.cancel().catch((error) => this.#fail(connection, error));
  }

  /** Forgets everything. */
  forget(): void {
    this.disconnect();
    this.replica.token = "";
  }

  async #open(connection: Connection): Promise<void> {
    const { instance, request, leaving } = connection;
    const reply = await instance.answer(request, leaving.promise);
    if (reply.status !== 200 || !(reply.body instanceof ReadableStream)) {
      if (![429, 503].includes(reply.status)) {
        this.faults.push(`refused: ${reply.status} ${reply.body}`);
      }
      connection.isOver = true;
      return;
    }
    connection.reader = reply.body.getReader();
    if (this.#connection !== connection) {
      await connection.reader.cancel();
      return;
    }
    this.#filter = this.#filterOf(instance.requests.get(leaving.promise));
  }

  #filterOf(request: SubscribeRequest | undefined): Filter | null {
    if (request === undefined) throw new Error("The hub was not called");
    const filter = and(request.scope, request.filter);
    return walks(filter) ? null : filter;
  }

  #startOver(reason: string): void {
    if (reason !== "scope_changed" || this.interest.place !== "things") return;
    const connection = this.#connection;
    const request = connection?.instance.requests.get(connection.leaving.promise);
    if (request === undefined) return;
    this.#filter = and(thingsScope(this.interest.user, this.#options.grants), request.filter);
  }

  #fail(connection: Connection, error: unknown): void {
    connection.isOver = true;
    if (this.#connection === connection) this.faults.push(`the stream failed: ${error}`);
  }
}

function walks(filter: Filter): boolean {
  if (filter.kind === "related") return true;
  return (filter.kind === "and" || filter.kind === "or") && filter.terms.some(walks);
}
