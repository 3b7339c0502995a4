import { readFile } from "node:fs/promises";
import { createServer, get } from "node:http";
import { pipeline } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { FlowFabric } from "flowfabric";

/**
 * A page that shows the tokens of a model as they arrive. This program is the web server of an application: it serves the page,
 * submits questions, runs the worker, and proxies streams to browsers. It needs a FlowFabric server (`npx flowfabric serve`). A
 * browser's EventSource cannot send a token, so the browser talks to this program, and only this program has the token.
 */

const server = new URL(process.env.FF_URL ?? "http://127.0.0.1:9090");
const token = process.env.FF_TOKEN;
const ff = FlowFabric.connect(server.href, token ? { token } : {});

/** A stand-in for a model: it needs no network, and is slow on purpose. */
async function* model(prompt, signal) {
	const answer = `You asked: ${prompt}\n\nA stream is what a handler says while it runs. It is written down as it comes, so nothing is lost when a connection breaks: the browser asks for what came behind the last frame it saw, and goes on.`;
	for (const word of answer.match(/\s*\S+/g)) {
		await pause(60, undefined, { signal });
		yield word;
	}
}

const worker = ff.worker({ concurrency: 8 });
worker.handle("answer", async (ctx, { prompt }) => {
	let tokens = 0;
	for await (const word of model(prompt, ctx.signal)) {
		await ctx.stream.write(word);
		tokens += 1;
	}
	return { tokens };
});
await worker.start();

const page = await readFile(new URL("./index.html", import.meta.url));

const routes = [
	["GET", /^\/$/, (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end(page)],
	["POST", /^\/ask$/, ask],
	["GET", /^\/runs\/(ex_\w+)$/, state],
	["GET", /^\/runs\/(ex_\w+)\/(\d{1,6})$/, stream],
];

async function ask(request, response) {
	let prompt = "";
	for await (const chunk of request.setEncoding("utf8")) {
		prompt += chunk;
		if (prompt.length > 1000) return response.writeHead(413).end();
	}
	const { id } = await ff.submit("answer", { prompt });
	response.end(id);
}

/** The state of an execution: the page asks for it when a stream has ended. */
async function state(_request, response, id) {
	const { publicState, state, attempt } = await ff.get(id);
	const answer = { publicState, hasEnded: state.lifecyclePhase === "terminal", attempt: attempt?.index ?? 0 };
	response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
}

/** Proxies a stream unchanged. If either side breaks, both end; the browser then reconnects with the last id it saw. */
function stream(request, response, id, attempt) {
	const seen = request.headers["last-event-id"];
	const headers = {
		accept: "text/event-stream",
		...(token ? { authorization: `Bearer ${token}` } : {}),
		...(seen ? { "last-event-id": seen } : {}),
	};
	const path = `/v1/executions/${id}/attempts/${attempt}/stream/tail${new URL(request.url, server).search}`;
	const source = get(new URL(path, server), { headers }, (answer) => {
		response.writeHead(answer.statusCode, { "content-type": answer.headers["content-type"] });
		pipeline(answer, response, () => {});
	});
	source.on("error", () => response.destroy());
	response.on("close", () => source.destroy());
}

const web = createServer(async (request, response) => {
	const { pathname } = new URL(request.url, server);
	for (const [method, form, handle] of routes) {
		const match = form.exec(pathname);
		if (match && method === request.method) {
			try {
				return await handle(request, response, ...match.slice(1));
			} catch (error) {
				return response.writeHead(error.status ?? 500).end(String(error.message));
			}
		}
	}
	response.writeHead(404).end();
});
web.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () =>
	console.log(`open http://127.0.0.1:${web.address().port}`),
);
