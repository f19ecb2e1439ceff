# The gateway's image:  docker build -t dsp-gateway .
# The base is pinned by the digest of its index, which holds for every architecture. Renew it from time to time, for the
# digest gets no security updates:  docker buildx imagetools inspect node:24-trixie-slim --format '{{.Manifest.Digest}}'
# Another base:  --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24-trixie-slim@sha256:8ec5d7557396cfe32d21c3f9c13072355ceab22b584578ca4bb28af31120cffe

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Scripts stay off: the package's own `prepare` would build before the sources are there.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
COPY docs ./docs
COPY CHANGELOG.md ./
# What --version, status and /healthz show:  --build-arg GIT_COMMIT=$(git rev-parse --short=12 HEAD)
ARG GIT_COMMIT=
RUN npm run build:program && npm run build:web

FROM ${NODE_IMAGE} AS modules
WORKDIR /app
COPY package.json package-lock.json ./
# Here `prepare` could not build at all: the compiler is a development dependency.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="dsp-gateway" \
      org.opencontainers.image.description="One in-house URL in front of an advertising (DSP) platform: one credential, team keys, cached reports." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"
# The last one is glibc's own value, held: it would rise with the first large answer, whose memory then stays.
ENV NODE_ENV=production \
    GATEWAY_DATA_DIR=/data \
    MALLOC_MMAP_THRESHOLD_=131072
# The one folder the gateway writes to, and that with the embedded store alone.
RUN mkdir --mode=0700 /data && chown 1000:1000 /data
WORKDIR /app
COPY --from=modules /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY config ./config
COPY package.json LICENSE ./
# By number, so that Kubernetes can see that it is not root; 1000 is `node` in the base image.
USER 1000:1000
VOLUME ["/data"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node itself is process 1: a shell or npm in between would swallow SIGTERM and the exit code.
# Otherwise V8 lets each half of its memory for new objects grow to 16 MiB.
ENTRYPOINT ["node", "--max-semi-space-size=8", "dist/cli.js"]
CMD ["serve"]
