/** The strings of a fragment of SQL: its values are bound between them. */
export type Texts = readonly string[];

/**
 * A place in the tree of kept strings: what was made from the parts on the path to it. The same parts
 * in the same order give the same strings.
 */
export interface Place {
  /** Null before the first fragment with exactly these parts. */
  texts: Texts | null;
  readonly after: Map<Texts, Place>;
}

/** Places by what leads to them: a map of either kind. */
interface Places<Key> {
  get(key: Key): Place | undefined;
  set(key: Key, place: Place): unknown;
}

/** Stands for a value in the path to a place. */
export const valuePart: Texts = Object.freeze([]);

/** All of them together: a client chooses how many shapes of filters there are. */
const maxCharacters = 4_000_000;
/** What a place takes beside its strings. */
const charactersOfPlace = 200;

/**
 * The strings of fragments of SQL, kept by what they are made of: a statement of a known shape is not
 * put together again, and its text is the same string, which need not be hashed again to find the
 * prepared statement. Nothing but the time shows what is kept.
 */
export class StatementCache {
  readonly #words = new Map<string, Texts>();
  readonly #names = new Map<string, Texts>();
  #templates = new WeakMap<Texts, Place>();
  readonly #lists = new Map<string, Place>();
  #statements = new WeakMap<object, WeakMap<Texts, string>>();
  #characters = 0;

  /** The strings of a fragment without parts. */
  word(text: string): Texts {
    return this.#words.get(text) ?? this.#keepWord(this.#words, text, text);
  }

  /** The same for a name, which `quote` makes a part of SQL at the first time. */
  name(name: string, quote: (name: string) => string): Texts {
    return this.#names.get(name) ?? this.#keepWord(this.#names, name, quote(name));
  }

  /** The place of a template before its parts. */
  template(strings: Texts): Place {
    return this.#placeAt(strings, this.#templates);
  }

  /** The place of a list of fragments with `separator` between them, before the first. */
  list(separator: string): Place {
    return this.#placeAt(separator, this.#lists);
  }

  /** The place after one more part. */
  after(place: Place, part: Texts): Place {
    return this.#placeAt(part, place.after);
  }

  /** Keeps the strings of a place. */
  keep(place: Place, texts: Texts): Texts {
    this.#count(texts.reduce((sum, { length }) => sum + length, 0));
    place.texts = texts;
    return texts;
  }

  /** The text of a statement of these strings, from `make` at the first time. */
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

  /** Forgets everything once there is too much: what is in use is kept again at once. */
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
