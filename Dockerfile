# The service in a container. Two stages: what compiles stays behind.
#
#   docker build -t ellice .
#   docker run --rm --read-only --cap-drop ALL --security-opt no-new-privileges -p 127.0.0.1:8080:8080 \
#     -v "$PWD/models:/models:ro" ellice /models/m.json --token-file /models/token.txt
#
# docs/service.md says more.
FROM debian:12-slim AS build
WORKDIR /src
COPY scripts/setup scripts/setup
RUN scripts/setup --runtime && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset package \
    && cmake --build build/package --target ellice_cli \
    && mkdir -p /out/lib \
    && cp build/package/apps/cli/ellice /out/ \
    && ldd /out/ellice | awk '$2 == "=>" {print $3}' | grep -v -E '/(libc|libm|libdl|librt|libpthread|libstdc[+][+]|libgcc_s)[.]so' \
       | xargs -I{} cp -L {} /out/lib/

# The same Debian without a compiler, the program and the libraries that it names.
FROM debian:12-slim
COPY --from=build /out/lib/ /usr/local/lib/
COPY --from=build /out/ellice /usr/local/bin/ellice
RUN ldconfig && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ellice
USER 10001
EXPOSE 8080
STOPSIGNAL SIGTERM
# Bash opens the connection itself: nothing has to be installed for it.
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s CMD ["/bin/bash", "-c", \
  "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /v2/health/ready HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3 && grep -q '200 OK' <&3"]
ENTRYPOINT ["/usr/local/bin/ellice", "serve", "--host", "0.0.0.0"]
