import type { FastifyInstance } from "fastify";
import { FlowFabricError } from "../contract/errors.ts";
import type { ServerContext } from "./server-context.ts";

const IDLE_CHECK_MS = 20;

/**
 * In this order: no new connection and no new call; whoever waits is answered with what there is, and every tail with a
 * `close` event; calls under way finish, for at most `graceMs`; what is left is cut.
 */
export async function closeGracefully(app: FastifyInstance, context: ServerContext, graceMs: number): Promise<void> {
	context.closing = true;
	const closed = app.close();
	for (const call of [...context.waiting]) call.end("closing");
	for (const tail of [...context.tails]) tail.end(new FlowFabricError("shutting_down"));
	// A connection whose call was under way goes idle later than the listener was closed.
	const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_MS);
	const cut = setTimeout(() => {
		context.log.warn({ graceMs }, "calls were still running and were aborted");
		app.server.closeAllConnections();
	}, graceMs);
	try {
		await closed;
	} finally {
		clearInterval(idle);
		clearTimeout(cut);
	}
}
