import { SECRET_ALLOWED, SECRET_HEX } from "../../contract/keys.ts";
import { PUBLIC_URL_ALLOWED, publicUrl } from "../../contract/public-url.ts";
import { shownAddress } from "../../contract/server-address.ts";
import { LISTEN_ALLOWED, listenAddress } from "../../hosting/listen-address.ts";
import { MAX_RATE } from "../../server/request-rate.ts";
import { isStoreUrl, STORE_URLS } from "../../store/open.ts";
import { shownUrl } from "../../store/shown-url.ts";
import type { Setting } from "./setting.ts";
import { readTokensFile } from "./tokens-file.ts";
import { listOf, oneOf, origins, token, truth, wholeNumber } from "./values.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export const LOG_FORMATS = ["json", "pretty"] as const;

/**
 * Everything a server can be told. This table is what `serve` and `dev` read, what their `--help` shows, and what the
 * table in docs/operations.md is held against.
 */
export const SERVER_SETTINGS = {
	store: {
		env: "FF_STORE",
		flag: "--store <url>",
		about: "the store that keeps everything",
		byDefault: "sqlite:./flowfabric.db",
		allowed: `must be ${STORE_URLS}`,
		shown: shownUrl,
		parse: (text: string) => (isStoreUrl(text) ? text : undefined),
	},
	listen: {
		env: "FF_LISTEN_ADDR",
		flag: "--listen <host:port>",
		about: "where the server listens; port 0 takes a free one",
		byDefault: "127.0.0.1:9090",
		allowed: LISTEN_ALLOWED,
		parse: listenAddress,
	},
	apiToken: {
		env: "FF_API_TOKEN",
		about: "a token with the role admin",
		allowed: "must be 16 to 1024 printable ASCII characters without spaces",
		secret: true,
		parse: token(16),
	},
	tokens: {
		env: "FF_API_TOKENS_FILE",
		flag: "--tokens-file <path>",
		about: "a JSON file of tokens, each with its hash, name, role and optionally a namespace and a rate",
		allowed: "must name a readable file",
		parse: readTokensFile,
	},
	waitpointSecretHex: {
		env: "FF_WAITPOINT_HMAC_SECRET",
		about: "the first secret that signs waitpoint tokens, for a store without a keyring; random by default",
		allowed: SECRET_ALLOWED,
		secret: true,
		parse: (text: string) => (SECRET_HEX.test(text) ? text : undefined),
	},
	waitpointGraceMs: {
		env: "FF_WAITPOINT_HMAC_GRACE_MS",
		flag: "--waitpoint-grace-ms <ms>",
		about: "how long waitpoint tokens stay valid after their key was replaced",
		byDefault: "86400000",
		allowed: "must be an integer number of milliseconds from 0 to 315360000000 (ten years)",
		parse: wholeNumber(0, 315_360_000_000),
	},
	publicUrl: {
		env: "FF_PUBLIC_URL",
		flag: "--public-url <url>",
		about: "the public address of this server, used for callback URLs; without it these are only paths",
		allowed: PUBLIC_URL_ALLOWED,
		shown: shownAddress,
		parse: publicUrl,
	},
	partitions: {
		env: "FF_FLOW_PARTITIONS",
		flag: "--partitions <count>",
		about: "partitions of a new store; for an existing store, the number it has",
		allowed: "must be an integer from 1 to 256",
		parse: wholeNumber(1, 256),
	},
	retentionMs: {
		env: "FF_RETENTION_MS",
		flag: "--retention-ms <ms>",
		about: "how long ended executions are kept unless their policy says otherwise; 0 keeps them until deleted",
		byDefault: "86400000",
		allowed: "must be an integer number of milliseconds from 0 to 315360000000 (ten years)",
		parse: wholeNumber(0, 315_360_000_000),
	},
	sweepMs: {
		env: "FF_SWEEP_MS",
		flag: "--sweep-ms <ms>",
		about:
			"how often the engine sweeps for work without a timer of its own: lost notices, blocked work, old events, the index",
		byDefault: "300000",
		allowed: "must be an integer number of milliseconds from 1000 to 86400000 (a day)",
		parse: wholeNumber(1000, 86_400_000),
	},
	scannerNamespaces: {
		env: "FF_SCANNER_NAMESPACES",
		flag: "--scanner-namespaces <list>",
		about: "namespaces that this server's scanners act on, separated by commas; all by default",
		allowed: "must be namespaces (1 to 64 characters of A-Z a-z 0-9 . _ -) separated by commas",
		parse: listOf((each) => /^[A-Za-z0-9._-]{1,64}$/.test(each)),
	},
	scannerTags: {
		env: "FF_SCANNER_TAGS",
		flag: "--scanner-tags <list>",
		about: "tags, separated by commas; this server's scanners act only on executions with one of them",
		allowed: "must be tags such as team:a separated by commas",
		parse: listOf((each) => /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*:/.test(each)),
	},
	maxConcurrentStreamOps: {
		env: "FF_MAX_CONCURRENT_STREAM_OPS",
		flag: "--max-concurrent-stream-ops <count>",
		about: "how many stream reads, including waiting ones, may run at once; more are refused",
		byDefault: "64",
		allowed: "must be an integer from 1 to 1000000",
		parse: wholeNumber(1, 1_000_000),
	},
	requestsPerSecond: {
		env: "FF_REQUESTS_PER_SECOND",
		flag: "--requests-per-second <count>",
		about: "how many requests per second each token may send; more are refused. No limit by default",
		allowed: "must be an integer from 1 to 1000000",
		parse: wholeNumber(1, MAX_RATE),
	},
	requestBurst: {
		env: "FF_REQUEST_BURST",
		flag: "--request-burst <count>",
		about: "how many of them may come at once after a pause; twice the rate by default",
		allowed: "must be an integer from 1 to 1000000",
		parse: wholeNumber(1, MAX_RATE),
	},
	corsOrigins: {
		env: "FF_CORS_ORIGINS",
		flag: "--cors-origins <list>",
		about: "origins whose pages may call the API, separated by commas",
		allowed: "must be origins such as https://example.org separated by commas, or *",
		shown: shownAddress,
		parse: origins,
	},
	openMetrics: {
		env: "FF_OPEN_METRICS",
		flag: "--open-metrics <true|false>",
		about: "show /metrics to everyone, not only on loopback and to tokens",
		byDefault: "false",
		allowed: "must be true or false",
		parse: truth,
	},
	logLevel: {
		env: "FF_LOG_LEVEL",
		flag: "--log-level <level>",
		about: "least important level to log",
		byDefault: "info",
		allowed: `must be one of ${LOG_LEVELS.join(", ")}`,
		parse: oneOf(LOG_LEVELS),
	},
	logFormat: {
		env: "FF_LOG_FORMAT",
		flag: "--log-format <format>",
		about: "json for machines, pretty for people; by default pretty on a terminal, else json",
		allowed: `must be one of ${LOG_FORMATS.join(", ")}`,
		parse: oneOf(LOG_FORMATS),
	},
} as const satisfies Record<string, Setting<unknown>>;
