import { browserEnvironment, createClient } from "../../../exports/client.ts";
import { liveList } from "../../../src/client/live/list_source.ts";
import { createOutbox } from "../../../src/client/outbox/create_outbox.ts";
import type { JobStorage } from "../../../src/client/outbox/job.ts";
import { memoryStorage } from "../../../src/client/outbox/memory_storage.ts";
import type { Write } from "../../../src/client/outbox/outbox.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import type { ModelServer } from "./model_servers.ts";
import { timeFactor } from "./model_service.ts";
import { damaged, foreignAnswer, slowStorage } from "./strangers.ts";

/** A row of the model. */
export interface Note {
  id: string;
  title: string | null;
  rank: number | null;
  stamp: string | null;
  version: number;
}

interface Api {
  notes: {
    path: "/api/notes";
    key: string;
    row: Note;
    create: Partial<Note>;
    update: Partial<Note>;
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
}

/** From 0 up to, but not including 1: the same numbers for the same seed. */
export type Chance = () => number;

/** What one client sent, and what came of it: for the report of a failure. */
type Trace = string[];

/** A client of the model, whose connection fails as often as the model wants. */
export function createModelClient(
  server: ModelServer,
  { name, chance, trace }: {
    readonly name: string;
    readonly chance: Chance;
    readonly trace: Trace;
  },
) {
  const storage = slowStorage(memoryStorage(), chance);
  const wakers = new Set<() => void>();
  const streams = new Set<() => void>();
  const environment = {
    ...browserEnvironment(),
    ...fastEnvironment(timeFactor),
    isOnline: () => !faults.isOffline,
    onWake(run: () => void) {
      wakers.add(run);
      return () => wakers.delete(run);
    },
    fetch: answer,
  };
  const faults = { isOffline: false, loss: 0, strangers: 0 };
  let page = openPage(storage);

  /** What a page has until it is loaded again. */
  function openPage(storage: JobStorage) {
    const api = createClient<Api>({
      ...{ baseUrl: "http://model", environment, headers: { "x-user": name } },
    });
    const outbox = createOutbox(api, {
      identity: "ada",
      storage,
      // Most conflicts are resolved by writing once more, some by nothing.
      onConflict: ({ mine, theirs }) => theirs === null || chance() < 0.2 ? null : mine,
    });
    const lists = [
      liveList(api.notes, { orderBy: ["-rank", "title"] }),
      liveList(api.notes, { filter: "rank=lt=5", accepts: ({ rank }) => (rank ?? 9) < 5 }),
      liveList(api.notes, { orderBy: ["-rank"], limit: 5 }),
    ] as const;
    const closings = lists.map((list) => list.subscribe(() => {}));
    return { api, outbox, lists, closings };
  }

  async function answer(request: Request): Promise<Response> {
    const { method, headers } = request;
    const stamp = method === "GET" ? null : (await request.clone().json().catch(() => ({}))).stamp;
    const note = (end: unknown) => {
      if (stamp === undefined || stamp === null) return;
      const facts = ["idempotency-key", "if-match"].map((name) => headers.get(name));
      trace.push(`${stamp} ${name} ${method} ${new URL(request.url).pathname} ${facts}: ${end}`);
    };
    try {
      const response = await answerOf(request);
      note(response.status);
      return response;
    } catch (error) {
      note(error);
      throw error;
    }
  }

  async function answerOf(request: Request): Promise<Response> {
    if (faults.isOffline || chance() < faults.loss) throw new TypeError("lost request");
    if (chance() < faults.strangers) return foreignAnswer(chance, environment.now());
    const breaking = new AbortController();
    const signal = AbortSignal.any([request.signal, breaking.signal]);
    // A proxy can send a request again, and the client receives the second response.
    const isTwice = chance() < faults.strangers;
    if (isTwice) {
      await (await server.fetch(new Request(request.clone(), { signal }))).body?.cancel();
    }
    const response = await server.fetch(new Request(request, { signal }));
    if (response.body !== null && request.url.endsWith("/__service/live")) {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const end = () => breaking.abort();
      streams.add(end);
      response.body.pipeThrough(damaged(chance, () => faults.strangers, end))
        .pipeTo(writable, { signal }).catch(() => {}).finally(() => streams.delete(end));
      return new Response(readable, response);
    }
    // The write was carried out, and a proxy answers.
    if (chance() < faults.strangers) {
      await response.body?.cancel();
      return foreignAnswer(chance, environment.now());
    }
    if (chance() < faults.loss) {
      await response.body?.cancel();
      throw new TypeError("lost answer");
    }
    return response;
  }

  return {
    name,
    get page() {
      return page;
    },
    /** How often a request or its answer is lost. */
    lose(share: number) {
      faults.loss = share;
    },
    /** How often a proxy answers, sends a request twice, or damages a stream. */
    meet(share: number) {
      faults.strangers = share;
    },
    setOffline(isOffline: boolean) {
      faults.isOffline = isOffline;
      if (isOffline) this.breakStreams();
      else for (const wake of [...wakers]) wake();
    },
    get isOffline() {
      return faults.isOffline;
    },
    breakStreams() {
      for (const end of [...streams]) end();
    },
    /** Loads the page again: what is in the memory is lost, what is stored is not. */
    reload() {
      trace.push(`- ${name} reload`);
      this.leave();
      page = openPage(storage);
    },
    leave() {
      page.outbox.close();
      for (const close of page.closings) close();
    },
    /** The jobs that a reload would find. */
    stored: () => storage.all(),
  };
}

/** A client of the model. */
export type ModelClient = ReturnType<typeof createModelClient>;

/** What a write to a row is addressed to. */
export type Target = string | Write<Note>;
