import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";

/** The page loads its own files and calls this server; nothing else, and nobody frames it. */
const POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const FILES = {
	"/docs": { file: "index.html", type: "text/html; charset=utf-8" },
	"/docs/page.css": { file: "page.css", type: "text/css; charset=utf-8" },
	"/docs/page.js": { file: "page.js", type: "text/javascript; charset=utf-8" },
} as const;

/** Human docs: a page that shows `/openapi.json` and lets people try each call. */
export function serveDocsPage(app: FastifyInstance): void {
	for (const [url, { file, type }] of Object.entries(FILES)) {
		const content = readFileSync(new URL(`docs-page/${file}`, import.meta.url));
		const headers = {
			"content-type": type,
			"content-security-policy": POLICY,
			"cache-control": "no-cache",
		};
		app.get(url, (_request, reply) => reply.headers(headers).send(content));
	}
	app.get("/docs/", (_request, reply) => reply.redirect("/docs"));
}
