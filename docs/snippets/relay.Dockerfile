FROM node:22-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts
COPY effects.json ./
USER node
# Exec form: signals reach the relay itself, not a shell.
CMD ["node_modules/.bin/comanda", "relay", "--config", "effects.json", "--database-url", "env:DATABASE_URL", "--grace", "30s", "--json", "--health-port", "9090", "--health-host", "0.0.0.0"]
