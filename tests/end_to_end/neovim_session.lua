local log = {}
local function say(...) table.insert(log, table.concat({...}, " ")) end
vim.cmd("edit " .. vim.env.SPACE_FILE)
local buffer = vim.api.nvim_get_current_buf()
local ready
vim.lsp.start_client({ name = "spacelang", cmd = { vim.env.SPACE_PYTHON, "-m", "spacelang", "lsp" },
  root_dir = vim.fn.getcwd(), on_init = function(client) vim.lsp.buf_attach_client(buffer, client.id); ready = client end })
vim.wait(20000, function() return ready ~= nil end)
vim.wait(20000, function() return #vim.diagnostic.get(buffer) > 0 end)
for _, each in ipairs(vim.diagnostic.get(buffer)) do say("diagnostic", each.lnum + 1, each.code or "", (each.message:gsub("\n", " | "))) end
local at = { textDocument = vim.lsp.util.make_text_document_params(buffer), position = { line = 0, character = 6 } }
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 20000)
  for _, answer in pairs(answers or {}) do return answer.result end
end
local hover = ask("textDocument/hover", at)
say("hover", (hover.contents.value:gsub("\n+", " | ")))
local completion = ask("textDocument/completion", { textDocument = at.textDocument, position = { line = 2, character = 17 } })
local labels = {}
for _, item in ipairs(completion.items or completion) do table.insert(labels, item.label) end
table.sort(labels)
say("completion", table.concat(labels, " "):sub(1, 150))
local edit = ask("textDocument/rename", { textDocument = at.textDocument, position = at.position, newName = "scaling" })
vim.lsp.util.apply_workspace_edit(edit, "utf-16")
say("renamed", table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), " / "))
io.stdout:write(table.concat(log, "\n") .. "\n")
vim.cmd("qa!")
