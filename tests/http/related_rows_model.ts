/** An oracle of nested writes: the rows of the desk in memory, and what a PATCH makes of them. */

export type UserId = "ada" | "bob";

/** What a body asks of a relation to many. */
export interface Ask {
  readonly connect?: readonly number[];
  readonly disconnect?: readonly number[];
  readonly set?: readonly number[];
}

/** A PATCH of a note. */
export interface NotePatch {
  readonly user: UserId;
  readonly note: number;
  readonly labels?: Ask & { readonly create?: readonly { id: number; name: string }[] };
  readonly tasks?: Ask & { readonly create?: readonly { id: number; title: string }[] };
  readonly sharedWith?: Ask;
  readonly author?: { readonly connect: number } | { readonly disconnect: true };
}

interface Owned {
  readonly ownerId: string;
}

/** The rows of all tables, which {@link Desk.patch} changes in place. */
export class Desk {
  readonly people = new Map<number, Owned>();
  readonly labels = new Map<number, Owned>();
  readonly notes = new Map<number, Owned & { authorId: number | null; version: number }>();
  readonly tasks = new Map<number, Owned & { noteId: number | null; version: number }>();
  readonly links = new Map<number, Set<number>>();
  /** Which notes are shared with which people, and the users who gave them. */
  shares: { readonly note: number; readonly person: number; readonly givenBy: string }[] = [];

  /** The statuses that are right; the rows are changed where that is 200. */
  patch(patch: NotePatch): ReadonlySet<number> {
    const { user } = patch;
    const lists = [patch.labels, patch.tasks, patch.sharedWith];
    if (lists.some((ask) => ask !== undefined && namesTwice(ask))) return new Set([422]);
    const note = this.notes.get(patch.note);
    if (note === undefined || !sees(user, note)) return new Set([404]);
    if (note.ownerId !== user) return new Set([403]);
    const faults = new Set<number>();
    const changes = [
      this.#label(patch, faults),
      this.#assign(patch, faults),
      this.#share(patch, faults),
      this.#author(patch, faults),
    ];
    if (faults.size > 0) return faults;
    for (const change of changes) change();
    note.version++;
    return new Set([200]);
  }

  /** The ids of the labels that a user sees at a note. */
  labelsOf(user: UserId, note: number): readonly number[] {
    const seen = [...this.links.get(note) ?? []].filter((id) => sees(user, this.labels.get(id)));
    return seen.sort((a, b) => a - b);
  }

  /** The ids of the tasks that a user sees at a note. */
  tasksOf(user: UserId, note: number): readonly number[] {
    return [...this.tasks].filter(([, task]) => task.noteId === note && sees(user, task))
      .map(([id]) => id).sort((a, b) => a - b);
  }

  #label({ user, note, labels: ask }: NotePatch, faults: Set<number>): () => void {
    if (ask === undefined) return () => {};
    const wanted = [...ask.set ?? [], ...ask.connect ?? []];
    if (wanted.some((id) => !sees(user, this.labels.get(id)))) faults.add(422);
    return () => {
      const now = this.links.get(note) ?? new Set();
      for (const id of [...now]) {
        const leaves = ask.set !== undefined || ask.disconnect?.includes(id) === true;
        if (leaves && sees(user, this.labels.get(id))) now.delete(id);
      }
      for (const id of wanted) now.add(id);
      for (const { id } of ask.create ?? []) {
        this.labels.set(id, { ownerId: "all" });
        now.add(id);
      }
      this.links.set(note, now);
    };
  }

  #assign({ user, note, tasks: ask }: NotePatch, faults: Set<number>): () => void {
    if (ask === undefined) return () => {};
    const wanted = [...ask.set ?? [], ...ask.connect ?? []];
    const moved = new Set<number>();
    for (const id of wanted) {
      const task = this.tasks.get(id);
      if (task === undefined || !sees(user, task)) faults.add(422);
      else if (task.noteId !== note) moved.add(id);
    }
    const removed = [...this.tasks].filter(([id, task]) =>
      task.noteId === note && sees(user, task) && !wanted.includes(id) &&
      (ask.set !== undefined || ask.disconnect?.includes(id) === true)
    ).map(([id]) => id);
    for (const id of [...moved, ...removed]) {
      if (this.tasks.get(id)?.ownerId !== user) faults.add(403);
    }
    return () => {
      for (const [ids, noteId] of [[moved, note], [removed, null]] as const) {
        for (const id of ids) {
          const task = this.tasks.get(id);
          if (task !== undefined) [task.noteId, task.version] = [noteId, task.version + 1];
        }
      }
      for (const { id } of ask.create ?? []) {
        this.tasks.set(id, { ownerId: "ada", noteId: note, version: 1 });
      }
    };
  }

  #share({ user, note, sharedWith: ask }: NotePatch, faults: Set<number>): () => void {
    if (ask === undefined) return () => {};
    const wanted = [...ask.set ?? [], ...ask.connect ?? []];
    if (wanted.some((id) => !sees(user, this.people.get(id)))) faults.add(422);
    const removed = this.shares.filter((share) =>
      share.note === note && sees(user, this.people.get(share.person)) &&
      !wanted.includes(share.person) &&
      (ask.set !== undefined || ask.disconnect?.includes(share.person) === true)
    );
    if (removed.some(({ givenBy }) => givenBy !== user)) faults.add(403);
    return () => {
      this.shares = this.shares.filter((share) => !removed.includes(share));
      for (const person of new Set(wanted)) {
        const isShared = this.shares.some((one) => one.note === note && one.person === person);
        if (!isShared) this.shares.push({ note, person, givenBy: user });
      }
    };
  }

  #author({ user, note, author: ask }: NotePatch, faults: Set<number>): () => void {
    if (ask === undefined) return () => {};
    const id = "connect" in ask ? ask.connect : null;
    if (id !== null && !sees(user, this.people.get(id))) faults.add(422);
    return () => {
      const row = this.notes.get(note);
      if (row !== undefined) row.authorId = id;
    };
  }
}

function sees(user: UserId, row: Owned | undefined): boolean {
  return row !== undefined && (row.ownerId === user || row.ownerId === "all");
}

function namesTwice({ connect = [], disconnect = [], set = [] }: Ask): boolean {
  const isTwice = (ids: readonly number[]) => new Set(ids).size < ids.length;
  return isTwice(connect) || isTwice(set) || isTwice(disconnect) ||
    disconnect.some((id) => connect.includes(id) || set.includes(id));
}
