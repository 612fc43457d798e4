export class RecordsByClient {
  readonly #shares = new Map<string, Share>();
  /** The clients by the bit length of their total size, so that the largest are found quickly. */
  readonly #byMagnitude: readonly Set<string>[] = Array.from({ length: 33 }, () => new Set());
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(name: string, code: string, size: number): void {
    const share = this.#shares.get(name) ?? { sizes: new Map<string, number>(), bytes: 0 };
    this.#shares.set(name, share);
    share.sizes.set(code, size);
    this.#resize(name, share, size);
  }

  remove(name: string, code: string): void {
    const share = this.#shares.get(name);
    const size = share?.sizes.get(code);
    if (share === undefined || size === undefined) return;
    share.sizes.delete(code);
    this.#resize(name, share, -size);
    if (share.sizes.size === 0) this.#shares.delete(name);
  }

  next(): string | null {
    const [name] = this.#byMagnitude.findLast((names) => names.size > 0) ?? [];
    const [code] = name === undefined ? [] : this.#shares.get(name)?.sizes.keys() ?? [];
    return code ?? null;
  }

  #resize(name: string, share: Share, more: number): void {
    this.#byMagnitude[magnitude(share.bytes)]?.delete(name);
    share.bytes += more;
    this.#bytes += more;
    if (share.bytes > 0) this.#byMagnitude[magnitude(share.bytes)]?.add(name);
  }
}

interface Share {
  readonly sizes: Map<string, number>;
  bytes: number;
}

function magnitude(bytes: number): number {
  return 32 - Math.clz32(bytes);
}
