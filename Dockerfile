FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The commit, for agenthost version and agenthost fleet: --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="-s -w -X main.source=$COMMIT" -o /out/agenthost ./cmd/agenthost \
 && mkdir -m 0700 /out/data

# Nothing but the binary, the roots that TLS needs, and a folder to write to.
# Time zones are in the binary.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/agenthost /usr/local/bin/agenthost
COPY --from=build --chown=65532:65532 /out/data /data
COPY deploy/agenthost.yaml /etc/agenthost/agenthost.yaml

ENV HOME=/data
USER 65532:65532
WORKDIR /data
VOLUME /data

# NATS of the embedded server; health and readiness.
EXPOSE 4222 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/agenthost"]
CMD ["run", "-c", "/etc/agenthost/agenthost.yaml"]
