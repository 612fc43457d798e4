export type SqlStrings = readonly string[];

export interface CacheNode {
  texts: SqlStrings | null;
  readonly after: Map<SqlStrings, CacheNode>;
}

interface Places<Key> {
  get(key: Key): CacheNode | undefined;
  set(key: Key, place: CacheNode): unknown;
}

export const valueInPath: SqlStrings = Object.freeze([]);

/** The maximum size of all strings together. Without a limit, clients could fill the memory. */
const maxCharacters = 4_000_000;
const charactersOfPlace = 200;

/** Caches SQL. A statement is always the same string object, which drivers find without hashing. */
export class StatementCache {
  readonly #words = new Map<string, SqlStrings>();
  readonly #names = new Map<string, SqlStrings>();
  #templates = new WeakMap<SqlStrings, CacheNode>();
  readonly #lists = new Map<string, CacheNode>();
  #statements = new WeakMap<object, WeakMap<SqlStrings, string>>();
  #characters = 0;

  word(text: string): SqlStrings {
    return this.#words.get(text) ?? this.#keepWord(this.#words, text, text);
  }

  name(name: string, quote: (name: string) => string): SqlStrings {
    return this.#names.get(name) ?? this.#keepWord(this.#names, name, quote(name));
  }

  template(strings: SqlStrings): CacheNode {
    return this.#placeAt(strings, this.#templates);
  }

  list(separator: string): CacheNode {
    return this.#placeAt(separator, this.#lists);
  }

  after(place: CacheNode, part: SqlStrings): CacheNode {
    return this.#placeAt(part, place.after);
  }

  keep(place: CacheNode, texts: SqlStrings): SqlStrings {
    this.#count(texts.reduce((sum, { length }) => sum + length, 0));
    place.texts = texts;
    return texts;
  }

  statement(texts: SqlStrings, placeholder: object, make: () => string): string {
    let known = this.#statements.get(placeholder);
    if (known === undefined) this.#statements.set(placeholder, known = new WeakMap());
    const text = known.get(texts) ?? make();
    known.set(texts, text);
    return text;
  }

  #keepWord(words: Map<string, SqlStrings>, key: string, text: string): SqlStrings {
    const texts = Object.freeze([text]);
    this.#count(charactersOfPlace + text.length);
    words.set(key, texts);
    return texts;
  }

  #placeAt<Key>(key: Key, places: Places<Key>): CacheNode {
    const known = places.get(key);
    if (known !== undefined) return known;
    this.#count(charactersOfPlace);
    const place = { texts: null, after: new Map<SqlStrings, CacheNode>() };
    places.set(key, place);
    return place;
  }

  /** Clears the cache if it is too large. The strings in use are soon added again. */
  #count(more: number): void {
    this.#characters += more;
    if (this.#characters <= maxCharacters) return;
    this.#characters = 0;
    this.#words.clear();
    this.#names.clear();
    this.#templates = new WeakMap();
    this.#lists.clear();
    this.#statements = new WeakMap();
  }
}
