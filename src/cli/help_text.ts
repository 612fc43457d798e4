/** What `--help` prints. */
export const helpText: string = `resource-api: a complete HTTP API from database tables

Usage:
  deno run -A cli.ts                    serve service.config.ts if it is there, else a demonstration
  deno run -A cli.ts DATABASE           serve every table of a live database, read-only

DATABASE is a SQLite file or a URL: sqlite:PATH, node-sqlite:PATH (the library built into Deno),
postgres://…, pglite:PATH

Options:
  -p, --port PORT      the port to listen on; 8000 unless set, 0 takes a free one
      --host ADDRESS   the address to listen on; 127.0.0.1 unless set. On another address
                       than the loopback reading needs the printed token
      --public         reading needs no token, whatever the address and the name
      --write          open DATABASE for writing; writes need the printed token
  -c, --config FILE    serve the configuration that FILE exports as default
  -h, --help           print this
  -v, --version        print the version

Exit codes: 0 stopped, 1 failure at run time, 2 wrong usage or configuration`;
