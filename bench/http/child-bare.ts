import { fastify } from "fastify";

/** The limit: a route that reads nothing, checks nothing and answers with as many bytes. */
const [reply = "{}"] = process.argv.slice(2);
const app = fastify();
const answer = JSON.parse(reply) as object;
app.get("/v1/executions/:id", async () => answer);
const address = await app.listen({ host: "127.0.0.1", port: 0 });
process.on("message", async () => {
	await app.close();
	process.disconnect();
});
process.send?.({ address });
