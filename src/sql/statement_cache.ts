/** The strings of a fragment of SQL. Its values are bound between them. */
export type Texts = readonly string[];

/**
 * A node in the tree of cached strings. The path to a node consists of the parts of a fragment. The
 * same parts in the same order have the same strings.
 */
export interface Place {
  /** The strings, or null until a fragment with exactly these parts occurs. */
  texts: Texts | null;
  readonly after: Map<Texts, Place>;
}

interface Places<Key> {
  get(key: Key): Place | undefined;
  set(key: Key, place: Place): unknown;
}

/** Represents a value in the path to a node. */
export const valuePart: Texts = Object.freeze([]);

/** The maximum size of all strings, because clients determine the number of filter shapes. */
const maxCharacters = 4_000_000;
const charactersOfPlace = 200;

/**
 * A cache of the strings of SQL fragments, by their parts. A statement whose shape is cached is not
 * built again. Its text is the same string object, so finding the prepared statement requires no
 * new hash. The cache affects only speed.
 */
export class StatementCache {
  readonly #words = new Map<string, Texts>();
  readonly #names = new Map<string, Texts>();
  #templates = new WeakMap<Texts, Place>();
  readonly #lists = new Map<string, Place>();
  #statements = new WeakMap<object, WeakMap<Texts, string>>();
  #characters = 0;

  /** Returns the strings of a fragment that consists only of this text. */
  word(text: string): Texts {
    return this.#words.get(text) ?? this.#keepWord(this.#words, text, text);
  }

  /** Returns the strings of a name. `quote` converts the name to SQL the first time. */
  name(name: string, quote: (name: string) => string): Texts {
    return this.#names.get(name) ?? this.#keepWord(this.#names, name, quote(name));
  }

  /** Returns the node before the first part of a template. */
  template(strings: Texts): Place {
    return this.#placeAt(strings, this.#templates);
  }

  /** Returns the node before the first fragment of a list whose separator is `separator`. */
  list(separator: string): Place {
    return this.#placeAt(separator, this.#lists);
  }

  /** Returns the node that one more part leads to. */
  after(place: Place, part: Texts): Place {
    return this.#placeAt(part, place.after);
  }

  /** Stores the strings of the fragment to which a node leads. */
  keep(place: Place, texts: Texts): Texts {
    this.#count(texts.reduce((sum, { length }) => sum + length, 0));
    place.texts = texts;
    return texts;
  }

  /** Returns the statement text for the strings of a fragment. `make` creates a missing text. */
  statement(texts: Texts, placeholder: object, make: () => string): string {
    let known = this.#statements.get(placeholder);
    if (known === undefined) this.#statements.set(placeholder, known = new WeakMap());
    const text = known.get(texts) ?? make();
    known.set(texts, text);
    return text;
  }

  #keepWord(words: Map<string, Texts>, key: string, text: string): Texts {
    const texts = Object.freeze([text]);
    this.#count(charactersOfPlace + text.length);
    words.set(key, texts);
    return texts;
  }

  #placeAt<Key>(key: Key, places: Places<Key>): Place {
    const known = places.get(key);
    if (known !== undefined) return known;
    this.#count(charactersOfPlace);
    const place = { texts: null, after: new Map<Texts, Place>() };
    places.set(key, place);
    return place;
  }

  /** Clears the cache if it is too large. Strings in use are soon cached again. */
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
