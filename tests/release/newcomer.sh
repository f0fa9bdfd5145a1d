#!/usr/bin/env bash
# What a newcomer types, in a container that has Python and a way to Docker: README's commands, then the built collection where nothing
# else is. clean_container.py runs it, in a copy of the checkout.
set -euo pipefail

step() { printf '\n── %s  %s\n' "$(date -u +%T)" "$*"; }

checkout=$PWD
log=$(mktemp -d)

step "README: See it"
make demo 2>&1 | tee "$log/demo"
grep -F "qwen2.5-14b-instruct" "$log/demo" >/dev/null
grep -E "^Done: [0-9]+ things on [0-9]+ hosts changed\.$" "$log/demo"

step "README: make demo again changes nothing"
make demo 2>&1 | tee "$log/again" | tail -n 30
grep -F "Nothing changed: everything is as declared." "$log/again"

step "README: Your own fleet, from the checkout"
make setup && . .venv/bin/activate
cp -r inventories/example inventories/mine
ansible-playbook site.yml -i inventories/mine >"$log/example" 2>&1 && exit 1
grep -F "still have the values of inventories/example" "$log/example" | head -n 1
deactivate

step "Quick start: the built collection, in an environment of its own"
make build
mkdir "$HOME/elsewhere" && cd "$HOME/elsewhere"
python3 -m venv environment && . environment/bin/activate
pip install 'ansible>=12'
# From the file, since Galaxy has another release or none; what it depends on has come with ansible.
ansible-galaxy collection install --no-deps "$(ls "$checkout"/build/gpuops-gpustack-*.tar.gz)"
cp -r ~/.ansible/collections/ansible_collections/gpuops/gpustack/inventories/example inventory

step "Quick start: say what there is"
# The fleet of the demo, as somebody would write it down who owns it.
cp "$checkout/inventories/demo/hosts.yml" inventory/hosts.yml
cp "$checkout"/inventories/demo/group_vars/all/{fleet,bench,models}.yml inventory/group_vars/all/
sed -i "s|{{ inventory_dir }}/../../.bench|$checkout/.bench|" inventory/group_vars/all/bench.yml
sed -i 's|^gpustack_server_admin_password: .*|gpustack_server_admin_password: "{{ vault_gpustack_admin_password }}"|' inventory/group_vars/all/fleet.yml
echo "vault_gpustack_admin_password: $(cat "$checkout/.bench/secrets/admin_password")" >inventory/group_vars/all/vault.yml
printf 'a password\na password\n' | ansible-vault encrypt inventory/group_vars/all/vault.yml

sed -n '/^```ini/,/^```/p' "$checkout/docs/quick-start.md" | grep -v '```' >ansible.cfg

step "Quick start: without the password"
ansible-playbook gpuops.gpustack.site -i inventory >"$log/locked" 2>&1 && exit 1
grep -F "is encrypted, and no password that was given decrypts it" "$log/locked"

step "Quick start: the plan alone"
echo 'a password' | ansible-playbook gpuops.gpustack.plan -i inventory --ask-vault-pass | tee "$log/plan" | tail -n 25
grep -F "Nothing changed: this playbook only looks." "$log/plan"
test -s build/plan/plan.html

for options in "--check --diff" ""; do
  step "Quick start: everything $options"
  # shellcheck disable=SC2086
  echo 'a password' | ansible-playbook gpuops.gpustack.site -i inventory --ask-vault-pass $options 2>&1 | tee "$log/installed" | tail -n 25
  grep -E "Nothing (would change|changed): everything is as declared\." "$log/installed"
done

step "README: the end of the demo"
cd "$checkout"
make demo-down
step "A newcomer gets there."
