package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	wait "github.com/flyball-io/flyball/run"
)

// probeLabel marks the one object that triggers a probe.
const probeLabel = "flyball.io/run-probe"

// reachWithin is the timeout of a probe. The API server uses a new webhook configuration after
// about a second.
const reachWithin = 15 * time.Second

var errNotCalled = errors.New("it has not called")

// reach returns nil if the API server calls https://addr on this machine, and otherwise the reason.
// It listens there and creates a webhook configuration for objects with a unique label only. Then
// it sends the server a dry-run creation of such a ConfigMap. If this program is killed meanwhile,
// the remaining configuration affects no other objects.
func reach(ctx context.Context, c *client.Live, addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return reached(ctx, c, l, addr)
}

// reached is reach with a listener, which it closes.
func reached(ctx context.Context, c *client.Live, l net.Listener, addr string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reachWithin, errNotCalled)
	defer cancel()
	defer l.Close()
	pair, ca, err := probePair(addr)
	if err != nil {
		return err
	}
	id := strings.ToLower(rand.Text())
	called := make(chan struct{}, 1)
	srv := &http.Server{
		Handler:           probed(called),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Second, ReadTimeout: 5 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- srv.ServeTLS(l, "", "") }()
	defer func() { srv.Close(); <-served }()

	hooks := probeHooks(id, "https://"+addr+"/"+id, ca)
	defer func() { // also if the answer to the creation was lost
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, client.IgnoreNotFound(client.Delete(ctx, c, hooks)))
	}()
	if _, err := client.Create(ctx, c, hooks); err != nil {
		return err
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "flyball-run-probe-", Namespace: metav1.NamespaceDefault, Labels: map[string]string{probeLabel: id}}}
	pause := backoff.Backoff{Policy: backoff.Policy{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}}
	for {
		_, err := client.Create(ctx, c, probe, client.DryRun{})
		select {
		case <-called:
			return nil
		default:
		}
		if broken := (*client.InternalError)(nil); errors.As(err, &broken) {
			return err // the server has tried, and failed
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		if wait.Sleep(ctx, pause.Fail(time.Now())) != nil {
			return context.Cause(ctx)
		}
	}
}

// probeHooks returns a webhook configuration for objects with the id only.
func probeHooks(id, url string, ca []byte) *registrationv1.ValidatingWebhookConfiguration {
	fail, none, scope, timeout := registrationv1.Fail, registrationv1.SideEffectClassNone, registrationv1.NamespacedScope, int32(3)
	return &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "flyball-run-probe-" + id},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name:         "probe.run.flyball.io",
			ClientConfig: registrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}, Scope: &scope},
			}},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			TimeoutSeconds:          &timeout,
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceDefault}},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{probeLabel: id}},
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// probed allows every request, and signals that it was called.
func probed(called chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		select {
		case called <- struct{}{}:
		default:
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	})
}

// probePair makes a self-signed certificate for the host of an address.
func probePair(addr string) (pair tls.Certificate, ca []byte, err error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return pair, nil, fmt.Errorf("--webhook-addr %s: %w", addr, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return pair, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
