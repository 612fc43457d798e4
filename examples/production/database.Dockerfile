# The image of `cli.ts DATABASE` for an existing SQLite file. Build it in a clone of resource-api:
#   docker build -f examples/production/database.Dockerfile -t shop-api .
#   docker run -p 127.0.0.1:8000:8000 -e SERVICE_SECRET -v ./data:/app/data shop-api
FROM denoland/deno:2.9.6
WORKDIR /app
RUN mkdir data && chown deno:deno data
COPY deno.json deno.lock mod.ts cli.ts ./
COPY exports ./exports
COPY src ./src
COPY dev/std ./dev/std
COPY dashboard ./dashboard
USER deno
RUN deno install --frozen --entrypoint cli.ts exports/node_sqlite.ts
ENV SERVICE_ENV=production DENO_NO_UPDATE_CHECK=1
VOLUME /app/data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["deno", "eval", "Deno.exit((await fetch('http://127.0.0.1:8000/readyz')).ok ? 0 : 1)"]
# Read-only. Everyone may read, as far as the proxy lets them: add --write --users for accounts.
CMD ["deno", "run", "-A", "--cached-only", "--frozen", "cli.ts", "node-sqlite:data/shop.db", \
  "--host", "0.0.0.0", "--public", "--trust-proxy", "1"]
